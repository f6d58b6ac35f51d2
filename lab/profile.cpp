#include "profile.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "blocks.hpp"
#include "failure.hpp"
#include "flame_graph.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "machine.hpp"
#include "process.hpp"
#include "scenario.hpp"
#include "table.hpp"
#include "temporary.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

constexpr std::chrono::seconds kPatience{120};  // perf needs a while to unwind what it has copied
constexpr std::size_t kHottest = 15;

/// The event to sample by: the processor's cycles where it has counters that we may use, else the kernel's CPU
/// clock, which also works in virtual machines.
std::string choose_event(const std::string& directory) {
  for (const char* event : {"cycles", "cpu-clock"}) {
    Process trial(
        {.words = {"perf", "record", "-q", "-e", event, "-o", directory + "/trial", "--", "true"}});
    const auto exit = trial.wait_until(Clock::now() + std::chrono::seconds(10));
    if (exit && exit->code == 0) return event;
  }
  throw Failure(
      "perf may not sample here; allow it with: sysctl kernel.perf_event_paranoid=1 (or run as "
      "root, or in a container "
      "with CAP_PERFMON)");
}

std::string script_of(const std::string& data) {
  Process script({.words = {"perf", "script", "-i", data, "--no-inline", "-F",
                            "comm,pid,tid,time,event,ip,sym,dso"}});
  const auto exit = script.wait_until(Clock::now() + kPatience);
  if (!exit || exit->code != 0)
    throw Failure(fmt::format("perf script failed: {}", trimmed(script.errors())));
  return script.output();
}

FoldedStacks sample(Server& server, const Load& load, const Stage& stage,
                    const ProfileOptions& options) {
  const std::string event = choose_event(stage.directory());
  const std::string data = stage.directory() + "/perf.data";
  std::vector<std::string> pids;
  for (const pid_t pid : server.processes()) pids.push_back(std::to_string(pid));
  // Optimised code keeps no frame pointers, so perf copies the top of the stack and unwinds it later.
  Process record({.words = {"perf", "record", "-q", "-e", event, "-F",
                            std::to_string(options.frequency), "--call-graph", "dwarf,8192", "-o",
                            data, "-p", fmt::format("{}", fmt::join(pids, ","))},
                  .cpus = stage.placement().load});
  pause_for(std::chrono::milliseconds(300));
  const LoadResult result =
      run_load(load, server.port(), stage.placement().load, stage.directory());
  if (!result.sound()) throw Failure("the load was not answered well: " + fault_of(result));
  record.stop(std::chrono::seconds(10));
  if (!std::ifstream(data))
    throw Failure(fmt::format("perf record wrote nothing: {}", trimmed(record.errors())));
  return fold(script_of(data));
}

/// Where most samples fell: functions by their own samples.
std::string hottest(const FoldedStacks& stacks) {
  std::map<std::string, std::uint64_t> own;
  std::uint64_t all = 0;
  for (const auto& [stack, samples] : stacks) {
    own[stack.substr(stack.rfind(';') + 1)] += samples;
    all += samples;
  }
  std::vector<std::pair<std::string, std::uint64_t>> sorted(own.begin(), own.end());
  std::ranges::sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  sorted.resize(std::min(sorted.size(), kHottest));
  Table table({"function ([k]: kernel)", "own %"});
  for (const auto& [name, samples] : sorted) {
    table.add({name, fmt::format("{:.1f}",
                                 100 * static_cast<double>(samples) / static_cast<double>(all))});
  }
  return table.text();
}

}  // namespace

int profile(const ProfileOptions& options) {
  require_place_for("--output", options.output);
  require_program("perf", "linux-perf");
  require_program("wrk", "wrk");
  const std::vector<Scenario> scenarios = find_scenarios({options.scenario});
  if (scenarios.size() != 1 || scenarios.front().kind != Scenario::Kind::kThroughput)
    throw Failure("profile takes one scenario with a load of wrk or ab", kExitUsage);
  Load load = scenarios.front().load;
  if (options.connections > 0) load.connections = options.connections;
  load.duration = std::chrono::seconds(options.seconds);
  const std::vector<ServerPlan> plans = plans_of(options.targets, load);
  for (const ServerPlan& plan : plans) require_server(plan);
  Stage stage(place(usable_cpus(), options.targets.workers));
  for (const ServerPlan& plan : plans) {
    const auto server = stage.start(plan, load);
    const FoldedStacks stacks = sample(*server, load, stage, options);
    if (stacks.empty()) throw Failure("perf took no samples of " + plan.name);
    std::string file = options.output.empty() || plans.size() > 1
                           ? fmt::format("flame-{}.svg", plan.name)
                           : options.output;
    std::ranges::replace(file, ' ', '-');
    write_text(file, flame_graph(stacks, fmt::format("{}: {}", plan.name, describe(load))));
    fmt::print("{}: {}\n{}flame graph: {}\n", plan.name, describe(load), hottest(stacks), file);
  }
  return 0;
}

}  // namespace leantea::lab

#include "bench.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "checks.hpp"
#include "failure.hpp"
#include "history.hpp"
#include "idle_memory.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "paced.hpp"
#include "progress.hpp"
#include "slow_readers.hpp"

namespace leantea::lab {
namespace {

constexpr int kBlocks = 12;
constexpr int kQuickBlocks = 6;
constexpr double kSeconds = 1;
// Of 60 and 600 seconds; the rest is for starting and stopping.
constexpr std::chrono::seconds kQuickBudget{55};
constexpr std::chrono::seconds kBudget{570};
constexpr int kMemoryBlocks = 2;  // memory does not depend on the machine's mood
constexpr std::uint64_t kSpareConnections = 64;
// What a run takes beside its length, and what starting and warming a server takes: for the forecast alone.
constexpr double kRunOverhead = 0.1;
constexpr double kStartOverhead = 0.35;
constexpr double kIdleSeconds = 2.5;
constexpr double kSlowReaderSeconds = 3;

ServerPlan with_room(ServerPlan plan, const Load& load) {
  plan.connections = static_cast<std::uint64_t>(load.connections) + kSpareConnections;
  return plan;
}

/// What a scenario needs beside its own client's connections.
std::uint64_t room_of(const Scenario& scenario) {
  auto room = static_cast<std::uint64_t>(scenario.slow_readers);
  if (scenario.kind == Scenario::Kind::kIdle) room += kIdleSpare;
  return room;
}

/// A scenario with its servers.
struct Match {
  Scenario scenario;
  std::vector<Entrant> entrants;
  BlockPlan plan;

  double expected_seconds() const {
    const auto servers = static_cast<double>(entrants.size());
    const double run = std::chrono::duration<double>(scenario.load.duration).count() + kRunOverhead;
    switch (scenario.kind) {
      case Scenario::Kind::kThroughput:
        return plan.blocks * servers *
               (kStartOverhead +
                run * ((plan.turn.count() > 0 ? 1 : 2) + (plan.server_bound ? 1 : 0)));
      case Scenario::Kind::kPaced:
        return servers * (kStartOverhead + run) + static_cast<double>(scenario.shares.size()) *
                                                      plan.blocks * servers *
                                                      (kStartOverhead + run);
      case Scenario::Kind::kIdle:
        return plan.blocks * servers * kIdleSeconds;
      case Scenario::Kind::kSlowReader:
        return plan.blocks * servers * (kSlowReaderSeconds + run);
    }
    return 0;
  }
};

void run_match(Stage& stage, const Match& match, double rate, std::vector<ContestResult>& results,
               const Progress& progress) {
  const Scenario& scenario = match.scenario;
  if (scenario.kind == Scenario::Kind::kPaced) {
    run_paced_scenario(stage, scenario, match.entrants, match.plan, rate, results, progress);
    return;
  }
  results.push_back(empty_contest(scenario.name, scenario.title));
  ContestResult& result = results.back();
  const Progress named = [&](const std::string& what) {
    progress(fmt::format("{}, {}", scenario.name, what));
  };
  switch (scenario.kind) {
    case Scenario::Kind::kIdle:
      stage.run_apart(match.entrants, match.plan, result, named, [&](std::size_t, Server& server) {
        Sample sample;
        sample.bytes_per_connection =
            measure_idle_memory(server, static_cast<std::size_t>(scenario.load.connections))
                .anonymous();
        return sample;
      });
      break;
    case Scenario::Kind::kSlowReader:
      run_slow_readers(stage, scenario, match.entrants, match.plan, result, named);
      break;
    case Scenario::Kind::kThroughput:
    case Scenario::Kind::kPaced:
      stage.run(match.entrants, match.plan, result, named);
  }
}

/// The one contest of the rounds table: every backend that this build has, in the order of the story.
std::vector<Entrant> rounds_entrants(const RunOptions& options, const Load& plain,
                                     std::vector<std::string>& remarks) {
  std::vector<Entrant> entrants;
  require_server(ours_plan(options.targets, "ours", ""));
  const std::vector<std::string> built =
      list_backends(ours_plan(options.targets, "ours", "").program);
  const auto add = [&](const std::string& label, const std::string& backend, bool keep_alive) {
    const std::string name = backend.substr(0, backend.find(':'));
    if (std::ranges::find(built, name) == built.end()) {
      remarks.push_back(
          fmt::format("{} is left out: this build of the bench server does not have it", label));
      return;
    }
    ServerPlan plan = ours_plan(options.targets, label, backend);
    plan.keep_alive = keep_alive;
    Load load = plain;
    if (!keep_alive) load.requests_per_connection = 1;
    entrants.push_back({.server = with_room(plan, load), .load = load});
  };
  add("libuv, no keep-alive", "libuv", false);
  add("libuv", "libuv", true);
  add("threads", "threads:1", true);
  add("reactor", "reactor", true);
  add("uring", "uring", true);
  entrants.push_back(
      {.server = with_room(peer_plan(options.targets, "nginx"), plain), .load = plain});
  entrants.push_back({.server = with_room(floor_plan(plain), plain), .load = plain});
  for (const Entrant& entrant : entrants) require_server(entrant.server);
  return entrants;
}

std::vector<Version> versions_for(const std::vector<Entrant>& entrants) {
  std::set<Tool> tools;
  std::vector<Version> versions;
  for (const Entrant& entrant : entrants) {
    tools.insert(entrant.load.tool);
    const ServerPlan& plan = entrant.server;
    const bool known = std::ranges::find(versions, plan.name, &Version::program) != versions.end();
    if (plan.kind == Kind::kPeer && !known)
      versions.push_back({.program = plan.name, .text = version_of(*find_peer(plan.name))});
  }
  if (tools.contains(Tool::kWrk)) versions.push_back(version_of("wrk", "-v"));
  if (tools.contains(Tool::kAb)) versions.push_back(version_of("ab", "-V"));
  return versions;
}

/// Everything that `options` asks for, before anything is started.
class Run {
 public:
  explicit Run(const BenchOptions& options)
      : options_(options), placement_(placement_for(options.run)) {
    const RunOptions& run = options_.run;
    const int usual_blocks = options_.quick ? kQuickBlocks : kBlocks;
    const int blocks = run.blocks > 0 ? run.blocks : usual_blocks;
    if (!options_.rounds_table || !run.scenarios.empty()) {
      for (Scenario& scenario :
           scenarios_of(run, options_.quick ? "quick" : "standard", kSeconds)) {
        add(std::move(scenario), blocks);
      }
    }
    if (options_.rounds_table) {
      Load plain;
      plain.connections = run.connections > 0 ? run.connections : plain.connections;
      plain.duration = milliseconds(run.seconds > 0 ? run.seconds : kSeconds);
      rounds_ = Match{
          .scenario = {.name = "rounds", .title = "backends: " + describe(plain), .load = plain},
          .entrants = rounds_entrants(run, plain, remarks_),
          .plan = {.blocks = blocks}};
    }
    if (matches_.empty() && !rounds_)
      throw Failure("no server takes part in any of these scenarios", kExitUsage);
    require_place_for("--benches", options_.benches);
    if (options_.record)
      (void)read_history(options_.history);  // what is no history cannot get a run
    require_place_for("--json", run.json);
    limit_time();
  }

  int go() {
    raise_descriptor_limit(4096);
    Stage stage(placement_);
    for (Match& match : matches_) stage.prepare(match.entrants, remarks_);
    if (rounds_) stage.prepare(rounds_->entrants, remarks_);
    std::erase_if(matches_, [](const Match& match) { return match.entrants.empty(); });
    BenchReport report = report_for(options_.run, placement_, all_entrants());
    report.remarks = remarks_;
    ProgressLine line{std::chrono::duration<double>(expected_seconds())};
    const Progress show = [&line](const std::string& what) { line.show(what); };
    if (talks()) fmt::print("{}", heading(report));
    for (const std::string& remark : report.remarks) {
      if (talks()) fmt::print("note: {}\n", remark);
    }
    try {
      for (const Match& match : matches_) {
        const std::size_t before = report.contests.size();
        run_match(stage, match, options_.rate, report.contests, show);
        line.clear();
        report.cpu_source = stage.cpu_source();
        take_stock(report, before, match.scenario.name);
      }
      if (rounds_) {
        report.rounds = empty_contest("rounds", rounds_->scenario.title);
        stage.run(rounds_->entrants, rounds_->plan, *report.rounds, show);
        line.clear();
        if (talks()) fmt::print("\n{}", rounds_table_of(*report.rounds));
      }
    } catch (const Interrupted&) {  // what there is, and nothing of it recorded
      line.clear();
      std::erase_if(report.contests, [](const ContestResult& c) { return c.orders.empty(); });
      if (!report.contests.empty() && printed_ < report.contests.size())
        fmt::print("\n{}", table_of(report, report.contests.back()));
      std::fflush(stdout);
      throw;
    }
    report.elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    return finish(report);
  }

 private:
  bool talks() const { return !options_.run.markdown && options_.run.json != "-"; }

  void add(Scenario scenario, int blocks) {
    Match match{.scenario = std::move(scenario), .entrants = {}, .plan = {.blocks = blocks}};
    Scenario& chosen = match.scenario;
    if (chosen.kind == Scenario::Kind::kIdle) {
      chosen.load.connections =
          static_cast<int>(allowed_connections(static_cast<std::size_t>(chosen.load.connections)));
    }
    const bool memory =
        chosen.kind == Scenario::Kind::kIdle || chosen.kind == Scenario::Kind::kSlowReader;
    if (memory && options_.run.blocks == 0) match.plan.blocks = kMemoryBlocks;
    if (chosen.kind == Scenario::Kind::kPaced && options_.run.blocks == 0)
      match.plan.blocks = std::max(static_cast<int>(kLeastForInterval), blocks / 2);
    match.plan.server_bound =
        chosen.server_bound && options_.server_bound && !options_.quick && !placement_.overlaps();
    if (!options_.apart) match.plan.turn = turn_for(chosen.load);
    match.entrants = entrants_for(options_.run, chosen, remarks_);
    if (match.entrants.empty()) return;
    matches_.push_back(std::move(match));
  }

  /// A run with nothing but defaults keeps its promise about time.
  void limit_time() {
    const RunOptions& run = options_.run;
    if (run.blocks > 0 || run.seconds > 0 || !run.scenarios.empty() || !run.targets.peers.empty())
      return;
    const auto deadline = start_ + (options_.quick ? kQuickBudget : kBudget);
    for (Match& match : matches_) match.plan.deadline = deadline;
    if (rounds_) rounds_->plan.deadline = deadline;
  }

  std::vector<Entrant> all_entrants() const {
    std::vector<Entrant> all;
    for (const Match& match : matches_)
      all.insert(all.end(), match.entrants.begin(), match.entrants.end());
    if (rounds_) all.insert(all.end(), rounds_->entrants.begin(), rounds_->entrants.end());
    return all;
  }

  double expected_seconds() const {
    double sum = rounds_ ? rounds_->expected_seconds() : 0;
    for (const Match& match : matches_) sum += match.expected_seconds();
    return sum;
  }

  /// Prints the contests behind the first `before`; those without a block become a remark.
  void take_stock(BenchReport& report, std::size_t before, const std::string& name) {
    for (std::size_t i = before; i < report.contests.size(); ++i) {
      if (report.contests[i].orders.empty()) continue;
      if (talks()) fmt::print("\n{}", table_of(report, report.contests[i]));
    }
    const auto emptied = std::erase_if(
        report.contests, [](const ContestResult& contest) { return contest.orders.empty(); });
    if (emptied > 0 || report.contests.size() == before) {
      report.remarks.push_back(fmt::format("{} was not measured: the time was over", name));
      if (talks()) fmt::print("\nnote: {}\n", report.remarks.back());
    }
    printed_ = report.contests.size();
    std::fflush(stdout);
  }

  int finish(const BenchReport& report) const {
    const RunOptions& run = options_.run;
    if (run.markdown) fmt::print("{}", markdown_of(report));
    const bool any_void = std::ranges::any_of(report.contests, &ContestResult::any_void) ||
                          (report.rounds && report.rounds->any_void());
    const std::string text = json_of(report);
    if (!run.json.empty()) write_text(run.json, text);
    if (any_void && (options_.record || !options_.benches.empty())) {
      fmt::print(stderr, "leantea-lab: not recorded, because a server was void\n");
      return kExitFailure;
    }
    if (!options_.benches.empty())
      replace_file(options_.benches, benches_of(parse_run(text, "this run")));
    if (options_.record) {
      append_run(options_.history, text);
      if (talks()) fmt::print("\nrecorded in {}\n", options_.history);
    }
    return any_void ? kExitFailure : 0;
  }

  static std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds(std::llround(seconds * 1000));
  }

  BenchOptions options_;
  Clock::time_point start_ = Clock::now();
  Placement placement_;
  std::vector<Match> matches_;
  std::optional<Match> rounds_;
  std::vector<std::string> remarks_;
  std::size_t printed_ = 0;  // contests of the report
};

}  // namespace

std::vector<Entrant> entrants_for(const RunOptions& options, const Scenario& scenario,
                                  std::vector<std::string>& remarks) {
  if (scenario.kind == Scenario::Kind::kThroughput || scenario.kind == Scenario::Kind::kPaced ||
      scenario.kind == Scenario::Kind::kSlowReader) {
    if (scenario.load.tool == Tool::kWrk) require_program("wrk", "wrk");
    if (scenario.load.tool == Tool::kAb) require_program("ab", "apache2-utils");
  }
  std::vector<Entrant> entrants;
  for (ServerPlan& plan : plans_of(options.targets, scenario.load, remarks)) {
    require_server(plan);
    plan = with_room(std::move(plan), scenario.load);
    plan.connections += room_of(scenario);
    entrants.push_back({.server = std::move(plan), .load = scenario.load});
  }
  return entrants;
}

std::vector<Scenario> scenarios_of(const RunOptions& options, const std::string& otherwise,
                                   double seconds) {
  std::vector<Scenario> scenarios =
      find_scenarios(options.scenarios.empty() ? std::vector{otherwise} : options.scenarios);
  const double chosen = options.seconds > 0 ? options.seconds : seconds;
  for (Scenario& scenario : scenarios) {
    scenario.load.duration = std::chrono::milliseconds(std::llround(chosen * 1000));
    if (options.connections > 0) scenario.load.connections = options.connections;
    // wrk wants at least one connection for each thread.
    scenario.load.threads = std::min(options.threads, scenario.load.connections);
  }
  return scenarios;
}

Placement placement_for(const RunOptions& options) {
  const std::vector<int> usable = usable_cpus();
  require_cpus("--server-cpus", options.server_cpus, usable);
  require_cpus("--load-cpus", options.load_cpus, usable);
  Placement placement = place(usable, options.targets.workers);
  if (!options.server_cpus.empty()) placement.server = options.server_cpus;
  if (!options.load_cpus.empty()) placement.load = options.load_cpus;
  return placement;
}

BenchReport report_for(const RunOptions& options, const Placement& placement,
                       const std::vector<Entrant>& entrants) {
  BenchReport report;
  report.command = options.command_line;
  report.commit = commit_here();
  report.machine = describe_machine();
  report.versions = versions_for(entrants);
  report.placement = placement;
  report.duration =
      entrants.empty() ? 0 : std::chrono::duration<double>(entrants.front().load.duration).count();
  report.references = {"nginx", "floor"};
  return report;
}

int bench(const BenchOptions& options) { return Run(options).go(); }

}  // namespace leantea::lab

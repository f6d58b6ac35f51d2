#include "bench.hpp"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "checks.hpp"
#include "contest.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "machine.hpp"
#include "report.hpp"
#include "servers.hpp"

namespace leantea::lab {
namespace {

constexpr int kRounds = 5;
constexpr int kSeconds = 2;
constexpr int kQuickRounds = 3;
constexpr int kQuickSeconds = 1;
// Of 45, the rest is for starting, checking and stopping.
constexpr std::chrono::seconds kQuickBudget{40};
constexpr std::uint64_t kLargeContent = 64 * 1024;
constexpr std::uint64_t kSpareConnections = 64;

/// Connections of each kind of load when none are given.
std::vector<int> default_connections(Traffic traffic, bool quick, std::uint64_t echo_bytes) {
  switch (traffic) {
    case Traffic::kPlain:
      return quick ? std::vector{128} : std::vector{128, 512, 2000};
    case Traffic::kPipelined:
      return {64};
    case Traffic::kBrowser:
    case Traffic::kNewConnections:
      return {128};
    case Traffic::kEcho:
      return {echo_bytes >= kLargeContent ? 16 : 128};
  }
  return {};
}

/// The run's arguments with every default in place, and what they make: servers and contests.
class Plan {
 public:
  explicit Plan(const BenchOptions& options) : options_(options) {
    if (options_.rounds == 0) options_.rounds = options_.quick ? kQuickRounds : kRounds;
    if (options_.seconds == 0) options_.seconds = options_.quick ? kQuickSeconds : kSeconds;
    if (options_.traffic.empty()) {
      options_.traffic = {Traffic::kPlain};
      if (options_.quick) options_.traffic.push_back(Traffic::kPipelined);
    }
  }

  const BenchOptions& options() const { return options_; }
  const std::vector<std::string>& remarks() const { return remarks_; }

  /// The contests, those that say most first.
  std::vector<Contest> contests() {
    std::vector<Contest> all;
    for (const Traffic traffic : options_.traffic) {
      const auto counts = options_.connections.empty()
                              ? default_connections(traffic, options_.quick, options_.echo_bytes)
                              : options_.connections;
      for (const int connections : counts) {
        for (const std::string& route : routes_for(traffic))
          all.push_back(contest(load(traffic, route, connections)));
      }
    }
    const bool plain =
        std::ranges::find(options_.traffic, Traffic::kPlain) != options_.traffic.end();
    if (options_.ab && plain) {
      Load ab = load(Traffic::kPlain, routes_for(Traffic::kPlain).front(), 64);
      ab.tool = Tool::kAb;
      all.push_back(contest(ab));
    }
    return all;
  }

  /// The one contest of the rounds table: every backend that this build has, in the order of the story.
  Contest rounds_contest() {
    const int connections = options_.connections.empty() ? 128 : options_.connections.front();
    const Load plain = load(Traffic::kPlain, "/health", connections);
    Contest story{
        .title = "backends: " + describe(plain), .entrants = {}, .rounds = options_.rounds};
    require_server(ours_plan(options_.targets, "ours", ""));
    const std::vector<std::string> built =
        list_backends(ours_plan(options_.targets, "ours", "").program);
    const auto add = [&](const std::string& label, const std::string& backend, bool keep_alive) {
      const std::string name = backend.substr(0, backend.find(':'));
      if (std::ranges::find(built, name) == built.end()) {
        remarks_.push_back(
            fmt::format("{} is left out: this build of the bench server does not have it", label));
        return;
      }
      ServerPlan plan = ours_plan(options_.targets, label, backend);
      plan.keep_alive = keep_alive;
      Load load = plain;
      if (!keep_alive) load.traffic = Traffic::kNewConnections;
      story.entrants.push_back(entrant(plan, load));
    };
    add("libuv, no keep-alive", "libuv", false);
    add("libuv", "libuv", true);
    add("threads", "threads:1", true);
    add("reactor", "reactor", true);
    add("uring", "uring", true);
    story.entrants.push_back(entrant(peer_plan(options_.targets, "nginx"), plain));
    story.entrants.push_back(entrant(floor_plan(plain), plain));
    return story;
  }

 private:
  std::vector<std::string> routes_for(Traffic traffic) const {
    if (traffic == Traffic::kEcho) return {"/echo"};
    if (!options_.routes.empty()) return options_.routes;
    if (traffic == Traffic::kPlain) return {"/health", "/json"};
    return {"/health"};
  }

  Load load(Traffic traffic, const std::string& path, int connections) const {
    const bool echo = traffic == Traffic::kEcho;
    if (path == "/echo" && !echo)
      throw Failure("/echo is measured with --echo SIZE, not with --routes", kExitUsage);
    return {.tool = Tool::kWrk,
            .traffic = traffic,
            .path = path,
            .connections = connections,
            .duration = std::chrono::seconds(options_.seconds),
            .requests = 0,
            .content_bytes = echo ? options_.echo_bytes : 0};
  }

  /// Every server has room for the largest number of connections of the run.
  Entrant entrant(ServerPlan plan, const Load& load) const {
    int most = 2000;
    for (const int count : options_.connections) most = std::max(most, count);
    plan.connections = static_cast<std::uint64_t>(most) + kSpareConnections;
    return {.server = std::move(plan), .load = load};
  }

  Contest contest(const Load& load) {
    Contest result{.title = describe(load), .entrants = {}, .rounds = options_.rounds};
    for (const ServerPlan& plan : plans_of(options_.targets, load, remarks_))
      result.entrants.push_back(entrant(plan, load));
    return result;
  }

  BenchOptions options_;
  std::vector<std::string> remarks_;
};

/// Each tool or server that takes part has to be there before anything is started.
void require_programs(const std::vector<Contest>& contests) {
  for (const Contest& contest : contests) {
    for (const Entrant& entrant : contest.entrants) {
      if (entrant.load.tool == Tool::kWrk) require_program("wrk", "wrk");
      if (entrant.load.tool == Tool::kAb) require_program("ab", "apache2-utils");
      require_server(entrant.server);
    }
  }
}

std::vector<Version> versions_for(const std::vector<Contest>& contests) {
  bool wrk = false;
  bool ab = false;
  std::vector<std::string> peers;
  for (const Contest& contest : contests) {
    for (const Entrant& entrant : contest.entrants) {
      wrk |= entrant.load.tool == Tool::kWrk;
      ab |= entrant.load.tool == Tool::kAb;
      const bool known = std::ranges::find(peers, entrant.server.name) != peers.end();
      if (entrant.server.kind == Kind::kPeer && !known) peers.push_back(entrant.server.name);
    }
  }
  std::vector<Version> versions;
  for (const std::string& name : peers)
    versions.push_back({.program = name, .text = version_of(*find_peer(name))});
  if (wrk) versions.push_back(version_of("wrk", "-v"));
  if (ab) versions.push_back(version_of("ab", "-V"));
  return versions;
}

Placement placement_for(const BenchOptions& options) {
  Placement placement = place(usable_cpus(), options.targets.workers);
  if (!options.server_cpus.empty()) placement.server = options.server_cpus;
  if (!options.load_cpus.empty()) placement.load = options.load_cpus;
  return placement;
}

/// One line on a terminal's error output that is replaced by the next; nothing where there is no terminal.
void show_progress(const std::string& what) {
  if (::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\033[K{}", what);
}

void clear_progress() { show_progress(""); }

}  // namespace

int bench(const BenchOptions& given) {
  const auto start = Clock::now();
  Plan plan(given);
  const BenchOptions& options = plan.options();
  const std::vector<Contest> contests =
      options.rounds_table ? std::vector{plan.rounds_contest()} : plan.contests();
  require_programs(contests);
  BenchReport report{.command = options.command_line,
                     .machine = describe_machine(),
                     .versions = versions_for(contests),
                     .placement = placement_for(options),
                     .rounds = options.rounds,
                     .seconds = options.seconds,
                     .contests = {},
                     .remarks = plan.remarks()};
  // The report stays free of anything but itself when it goes to the standard output.
  const bool talk = !options.markdown && options.json != "-";

  raise_descriptor_limit(4096);
  Stage stage(report.placement);
  for (const Contest& contest : contests) stage.prepare(contest);
  report.cpu_source =
      stage.server(contests.front().entrants.front().server).cpu().value_or(CpuTime{}).source;
  if (talk) fmt::print("{}", heading(report));
  for (const std::string& remark : report.remarks) {
    if (talk) fmt::print("note: {}\n", remark);
  }
  const auto deadline = options.quick ? start + kQuickBudget : Clock::time_point::max();
  for (const Contest& contest : contests) {
    ContestResult result = stage.run(contest, deadline, show_progress);
    clear_progress();
    if (result.rows.empty() || result.rows.front().rounds.empty()) {
      report.remarks.push_back("not measured, the time of --quick was over: " + contest.title);
      if (talk) fmt::print("\n{}\n", report.remarks.back());
      continue;
    }
    if (talk) fmt::print("\n{}", options.rounds_table ? rounds_table_of(result) : table_of(result));
    std::fflush(stdout);
    report.contests.push_back(std::move(result));
  }
  if (options.markdown) {
    fmt::print("{}", options.rounds_table ? rounds_markdown_of(report) : markdown_of(report));
  }
  if (!options.json.empty()) write_text(options.json, json_of(report));
  const bool any_void = std::ranges::any_of(report.contests, [](const ContestResult& c) {
    return std::ranges::any_of(c.rows, &Row::is_void);
  });
  return any_void ? kExitFailure : 0;
}

}  // namespace leantea::lab

#include "contest.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "checks.hpp"
#include "failure.hpp"
#include "interrupt.hpp"

namespace leantea::lab {
namespace {

constexpr int kAttempts = 3;    // a void run is repeated at most twice
constexpr double kFull = 0.95;  // a core that is as busy as this has nothing left
// The client's own part of a full core, from which on the core is full because of the client.
constexpr double kMostly = 0.85;
constexpr std::uint64_t kAbSizingRequests = 4000;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// The servers of others are told apart by their names.
bool is_started_by_name(const ServerPlan& plan) {
  return plan.kind != Kind::kOurs && plan.kind != Kind::kFloor;
}

/// Two plans with the same key are the same server.
std::string key_of(const ServerPlan& plan) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", static_cast<int>(plan.kind), plan.program,
                     plan.backend, plan.keep_alive, plan.workers, static_cast<int>(plan.floor_mode),
                     plan.content_bytes, is_started_by_name(plan) ? plan.name : "");
}

std::optional<double> value_of(const Sample& sample, Metric metric) {
  const auto unless_zero = [](double value) {
    return value > 0 ? std::optional(value) : std::nullopt;
  };
  switch (metric) {
    case Metric::kRequestsPerSecond:
      return sample.load.requests_per_second;
    case Metric::kP50:
      return unless_zero(sample.load.p50);
    case Metric::kP99:
      return unless_zero(sample.load.p99);
    case Metric::kCpuMicros:
      return unless_zero(sample.cpu_micros_per_request());
  }
  return std::nullopt;
}

double median_of(const Row& row, double (*figure)(const Sample&)) {
  std::vector<double> values;
  for (const auto& sample : row.rounds) {
    if (sample) values.push_back(figure(*sample));
  }
  return values.empty() ? 0 : median(values);
}

}  // namespace

double Sample::cpu_micros_per_request() const {
  return load.requests == 0 ? 0 : seconds(server_cpu) * 1e6 / static_cast<double>(load.requests);
}

bool Row::is_void() const {
  return std::ranges::any_of(rounds, [](const auto& sample) { return !sample.has_value(); });
}

const Row* ContestResult::row(std::string_view name) const {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

Values values_of(const Row& row, Metric metric) {
  Values values;
  for (const auto& sample : row.rounds)
    values.push_back(sample ? value_of(*sample, metric) : std::nullopt);
  return values;
}

bool limited_by_client(const Row& row) {
  const double core = median_of(row, [](const Sample& s) { return s.load_core_busy; });
  const double client = median_of(row, [](const Sample& s) { return s.load_share; });
  const double server = median_of(row, [](const Sample& s) { return s.server_share; });
  return core >= kFull && client >= kMostly && server < kFull;
}

OtherWork other_work(const Row& row) {
  const auto beyond = [](double busy, double share) { return std::max(0.0, busy - share); };
  double server = 0;
  double client = 0;
  std::vector<double> of_server;
  std::vector<double> of_client;
  for (const auto& sample : row.rounds) {
    if (!sample) continue;
    of_server.push_back(beyond(sample->server_cores_busy, sample->server_share));
    of_client.push_back(beyond(sample->load_core_busy, sample->load_share));
  }
  if (!of_server.empty()) {
    server = median(of_server);
    client = median(of_client);
  }
  return {.server_cores = server, .load_core = client};
}

Server& Stage::server(ServerPlan plan) {
  std::unique_ptr<Server>& slot = servers_[key_of(plan)];
  if (!slot) {
    plan.cpus = placement_.server;
    slot = std::make_unique<Server>(std::move(plan), directory_.path());
  }
  return *slot;
}

void Stage::prepare(const Contest& contest) {
  for (const Entrant& entrant : contest.entrants) {
    check(server(entrant.server), entrant.load.path, entrant.load.content_bytes);
  }
}

Sample Stage::measure(Server& server, const Load& load) {
  const CoreTime server_before = core_time(placement_.server);
  const CoreTime load_before = core_time(placement_.load);
  const auto cpu_before = server.cpu();
  const auto start = Clock::now();
  Sample sample{.load = run_load(load, server.port(), placement_.load, directory_.path())};
  const double wall = seconds(Clock::now() - start);
  const auto cpu_after = server.cpu();
  if (cpu_before && cpu_after) {
    cpu_source_ = cpu_after->source;
    sample.server_cpu = cpu_after->spent - cpu_before->spent;
  }
  sample.server_share =
      seconds(sample.server_cpu) / wall / static_cast<double>(placement_.server.size());
  sample.load_share = seconds(sample.load.cpu) / wall;
  sample.server_cores_busy = busy_share(server_before, core_time(placement_.server));
  sample.load_core_busy = busy_share(load_before, core_time(placement_.load));
  return sample;
}

std::optional<Sample> Stage::attempt(Row& row, Server& server, const Load& load) {
  for (int i = 0; i < kAttempts; ++i) {
    server.must_run();
    try {
      Sample sample = measure(server, load);
      if (sample.load.sound()) return sample;
      row.voids.push_back(fault_of(sample.load));
    } catch (const Failure& failure) {  // the client itself failed
      row.voids.emplace_back(failure.what());
    }
  }
  return std::nullopt;
}

/// ab is told a number of requests, not a time: finds how many take about as long as a run of wrk. A server
/// with which ab does not work keeps the small number; its rounds will say why they are void.
void Stage::size_for_ab(Entrant& entrant) {
  if (entrant.load.tool != Tool::kAb || entrant.load.requests > 0) return;
  entrant.load.requests = kAbSizingRequests;
  try {
    const Sample sample = measure(server(entrant.server), entrant.load);
    const double wanted =
        sample.load.requests_per_second * static_cast<double>(entrant.load.duration.count());
    entrant.load.requests = std::max(kAbSizingRequests, static_cast<std::uint64_t>(wanted));
  } catch (const Failure&) {
    return;
  }
}

ContestResult Stage::run(const Contest& contest, std::chrono::steady_clock::time_point deadline,
                         const Progress& progress) {
  ContestResult result{.title = contest.title, .rows = {}};
  const Clock::duration least =
      contest.entrants.size() * Clock::duration(contest.entrants.front().load.duration);
  if (Clock::now() + least > deadline) return result;
  std::vector<Entrant> entrants = contest.entrants;
  for (Entrant& entrant : entrants) {
    size_for_ab(entrant);
    result.rows.push_back(
        {.name = entrant.server.name, .load = entrant.load, .rounds = {}, .voids = {}});
  }
  Clock::duration longest = least;
  for (int round = 1; round <= contest.rounds; ++round) {
    const auto start = Clock::now();
    if (start + longest > deadline) break;
    for (std::size_t i = 0; i < entrants.size(); ++i) {
      progress(fmt::format("{}: round {} of {}, {}", contest.title, round, contest.rounds,
                           result.rows[i].name));
      result.rows[i].rounds.push_back(
          attempt(result.rows[i], server(entrants[i].server), entrants[i].load));
    }
    longest = std::max(longest, Clock::now() - start);
  }
  return result;
}

}  // namespace leantea::lab

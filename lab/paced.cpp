#include "paced.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "failure.hpp"

namespace leantea::lab {
namespace {

// A client that is later than this at its p99 does not keep its schedule.
constexpr double kLateMicros = 100;

double micros(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// What the slowest of the servers answers at most, requests/s.
double slowest_maximum(Stage& stage, const std::vector<Entrant>& entrants,
                       const Progress& progress) {
  double slowest = 0;
  for (const Entrant& entrant : entrants) {
    progress("maximum of " + entrant.server.name);
    const auto server = stage.start(entrant.server, entrant.load);
    warm_up(*server, entrant.load);
    const LoadResult result = stage.measure(*server, entrant.load).load;
    if (!result.sound()) {
      throw Failure(fmt::format("the maximum of {} could not be found: {}", entrant.server.name,
                                fault_of(result)));
    }
    if (slowest == 0 || result.requests_per_second < slowest) slowest = result.requests_per_second;
  }
  return slowest;
}

/// A contest at the rate that stands in `result`.
void run_at_rate(Stage& stage, const std::vector<Entrant>& entrants, const BlockPlan& plan,
                 ContestResult& result, const Progress& progress) {
  Histogram late;
  std::vector<Histogram> latencies(entrants.size());
  const auto keep = [&] {
    for (std::size_t i = 0; i < result.lanes.size(); ++i) result.lanes[i].latency = latencies[i];
  };
  stage.run_apart(entrants, plan, result, progress, [&](std::size_t lane, Server& server) {
    const auto before = server.cpu();
    const PacedResult paced = run_paced(server.port(), entrants[lane].load, result.rate,
                                        stage.placement().load, !stage.placement().overlaps());
    latencies[lane].add(paced.latency);
    late.add(paced.late);
    keep();
    Sample sample;
    sample.load.requests = paced.answered;
    sample.load.seconds = paced.seconds;
    sample.load.requests_per_second = static_cast<double>(paced.answered) / paced.seconds;
    sample.load.p50 = micros(paced.latency.percentile(50));
    sample.load.p99 = micros(paced.latency.percentile(99));
    if (const auto after = server.cpu(); before && after)
      sample.server_cpu = after->spent - before->spent;
    return sample;
  });
  if (const double p99 = micros(late.percentile(99)); p99 > kLateMicros) {
    result.remarks.push_back(
        fmt::format("the client itself was {:.0f} µs late (p99): its core had other work, or the "
                    "rate is too high for it",
                    p99));
  }
}

}  // namespace

void run_paced_scenario(Stage& stage, const Scenario& scenario,
                        const std::vector<Entrant>& entrants, const BlockPlan& plan, double rate,
                        std::vector<ContestResult>& results, const Progress& progress) {
  std::vector<std::pair<std::string, double>> rates;
  if (rate > 0) {
    rates.emplace_back(scenario.name, rate);
  } else {
    const double maximum = slowest_maximum(stage, entrants, progress);
    for (const double share : scenario.shares) {
      rates.emplace_back(fmt::format("{}-{:.0f}", scenario.name, share * 100),
                         std::max(share * maximum, 1.0));
    }
  }
  for (const auto& [name, each] : rates) {
    if (Clock::now() >= plan.deadline) return;
    results.push_back(empty_contest(name, scenario.title, each));
    run_at_rate(stage, entrants, plan, results.back(),
                [&](const std::string& what) { progress(fmt::format("{}, {}", name, what)); });
  }
}

}  // namespace leantea::lab

// Latencies of servers at a fixed rate.
//
// wrk sends the next request when the answer is there, so a server that stalls is asked less while it stalls.
// This client does not wait: requests are due at fixed times, whatever the server does, and a latency counts
// from the time its request was due. That is what a user sees who does not know of the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "blocks.hpp"
#include "histogram.hpp"
#include "scenario.hpp"

namespace leantea::lab {

/// What a paced run gave.
struct PacedResult {
  Histogram latency;  ///< from the time a request was due to the last byte of its answer
  Histogram
      late;  ///< how late requests left although a connection was free: the client's own fault
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  double seconds = 0;
};

/// Sends `load`'s request at `rate` requests per second for load.duration, from this thread, which is on `cpus`
/// meanwhile. `may_spin`: those cores are the client's alone, so it may spin before a request is due. Throws Failure
/// when the server closes a connection, answers other than 200, or owes answers 10 s after the end.
PacedResult run_paced(std::uint16_t port, const Load& load, double rate,
                      const std::vector<int>& cpus, bool may_spin);

/// A paced scenario: one result for each rate, appended to `results` when it begins. `rate` > 0 replaces the scenario's
/// shares of the slowest server's maximum, which is found by a run of wrk. Void runs, disturbances and interruption as
/// in Stage::run.
void run_paced_scenario(Stage& stage, const Scenario& scenario,
                        const std::vector<Entrant>& entrants, const BlockPlan& plan, double rate,
                        std::vector<ContestResult>& results, const Progress& progress);

}  // namespace leantea::lab

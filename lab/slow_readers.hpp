// Clients that ask and do not read, beside others that do. Main thread only.
#pragma once

#include <vector>

#include "blocks.hpp"
#include "scenario.hpp"

namespace leantea::lab {

/// A slow-reader scenario: in each block, for each server, `scenario.slow_readers` clients ask for /json until the
/// server takes no more, then read an answer now and then; in the sample are what the server's memory grew by for each
/// of them, and the load's requests/s and processor time on other connections meanwhile. Void runs and interruption as
/// in Stage::run.
void run_slow_readers(Stage& stage, const Scenario& scenario, const std::vector<Entrant>& entrants,
                      const BlockPlan& plan, ContestResult& result, const Progress& progress);

}  // namespace leantea::lab

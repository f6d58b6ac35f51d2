// `leantea-lab bench`: ours, nginx, the floors and other servers side by side in scenarios, and the table of the
// backends (`--rounds-table`).
#pragma once

#include <string>
#include <vector>

#include "blocks.hpp"
#include "report.hpp"
#include "scenario.hpp"
#include "targets.hpp"

namespace leantea::lab {

/// What all commands that make blocks share. Zeros and empty lists stand for the default.
struct RunOptions {
  std::vector<std::string> scenarios;
  int blocks = 0;
  double seconds = 0;   ///< of one run
  int connections = 0;  ///< instead of the scenarios'
  int threads = 1;      ///< of wrk
  Targets targets{.servers = {"ours", "nginx", "floor"}};
  std::vector<int> server_cpus;
  std::vector<int> load_cpus;
  std::string json;  ///< file for the whole run; empty: none
  bool markdown = false;
  std::string command_line;  ///< as typed, for the report
};

struct BenchOptions {
  RunOptions run;
  bool quick = false;
  bool rounds_table = false;
  double rate = 0;  ///< of paced scenarios, requests/s; 0: shares of the slowest server's maximum
  bool server_bound = true;
  bool apart =
      false;  ///< runs one after the other, with wrk's latencies, and not in turns of 50 ms
  bool record = false;
  std::string history;  ///< folder to record in
  std::string benches;  ///< file for the run's benches alone; empty: none
};

/// Measures and prints. The exit code: 0, or 1 when a server was void in a scenario (then nothing is recorded).
int bench(const BenchOptions& options);

/// The scenario's servers with the loads that they get, each with room for its connections. `remarks` gets a line for
/// each server that is left out. Throws Failure when a program is missing.
std::vector<Entrant> entrants_for(const RunOptions& options, const Scenario& scenario,
                                  std::vector<std::string>& remarks);

/// The scenarios of `options` with its connections, seconds and threads in place; `otherwise` when it names none.
std::vector<Scenario> scenarios_of(const RunOptions& options, const std::string& otherwise,
                                   double seconds);

/// Cores: the chosen ones, or those that are usable.
Placement placement_for(const RunOptions& options);

/// A report with everything in it but the contests.
BenchReport report_for(const RunOptions& options, const Placement& placement,
                       const std::vector<Entrant>& entrants);

}  // namespace leantea::lab

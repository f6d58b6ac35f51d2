// `leantea-lab bench`: ours, nginx and the floor side by side, and the table of the backends (`--rounds-table`).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "load.hpp"
#include "targets.hpp"

namespace leantea::lab {

/// The command's arguments. Empty lists and zeros stand for the default of each kind of load.
struct BenchOptions {
  bool quick = false;
  int rounds = 0;
  int seconds = 0;
  std::vector<int> connections;
  std::vector<std::string> routes;
  Targets targets{.servers = {"nginx", "floor", "ours"}};
  std::vector<Traffic> traffic;  ///< empty: plain
  std::uint64_t echo_bytes = 1024;
  bool ab = true;
  std::vector<int> server_cpus;
  std::vector<int> load_cpus;
  bool rounds_table = false;
  std::string json;  ///< file for all figures; empty: none
  bool markdown = false;
  std::string command_line;  ///< as typed, for the report
};

/// Measures and prints. The exit code: 0, or 1 when a row is void.
int bench(const BenchOptions& given);

}  // namespace leantea::lab

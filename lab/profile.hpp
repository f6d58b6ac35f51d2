// `leantea-lab profile`: a flame graph of a server under load, sampled by Linux perf.
#pragma once

#include <string>
#include <vector>

#include "targets.hpp"

namespace leantea::lab {

struct ProfileOptions {
  Targets targets{.servers = {"ours"}};
  std::string scenario = "health";
  int connections = 0;  ///< 0: the scenario's
  int seconds = 5;
  int frequency = 997;  ///< samples per second; not a divisor of anything that happens regularly
  std::string output;   ///< the SVG; empty: flame-<server>.svg
};

/// Runs, writes the SVG and prints where most samples fell. The exit code.
int profile(const ProfileOptions& options);

}  // namespace leantea::lab

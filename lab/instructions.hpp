// `leantea-lab instructions`: user-space instructions per request, counted by valgrind's callgrind.
//
// As with system calls, two runs of different length and their difference. The requests are ab -k's, byte for
// byte. The count is exact and the same on a busy machine, so it shows changes that are far too small for a
// clock.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "targets.hpp"

namespace leantea::lab {

struct InstructionsOptions {
  Targets targets{.servers = {"ours"}};
  std::vector<std::string> routes;  ///< of /health, /json, /echo; empty: all that a server has
  std::size_t requests = 5'000;
  std::size_t connections = 1;
  std::size_t content_bytes = 5;  ///< of an echo
  std::string json;
};

/// The instructions in callgrind's output file, or 0.
std::uint64_t parse_callgrind(std::string_view file);

/// Measures and prints. The exit code.
int instructions(const InstructionsOptions& options);

}  // namespace leantea::lab

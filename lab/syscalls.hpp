// `leantea-lab syscalls`: system calls per request, counted by strace.
//
// Two runs that differ only in their number of requests; the difference of the counts, divided by the
// difference of the requests, is free of everything that starting, accepting and stopping cost.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "targets.hpp"

namespace leantea::lab {

struct SyscallsOptions {
  Targets targets{.servers = {"ours"}};
  std::size_t requests = 10'000;
  std::vector<std::size_t> connections{1, 16};
  std::string json;
};

/// Calls by name.
using Calls = std::map<std::string, double>;

/// Reads the table of `strace -c`.
Calls parse_strace(std::string_view table);

/// (longer − shorter) ÷ requests for every name in either; names without calls per request are left out.
Calls per_request(const Calls& shorter, const Calls& longer, std::size_t requests);

/// Measures and prints. The exit code.
int syscalls(const SyscallsOptions& options);

}  // namespace leantea::lab

// `leantea-lab spread`: how evenly connections are shared among the loops (or workers) of a server.
//
// Seen from outside, so that it works for any server: connections are opened all at once, and then each in turn has
// requests answered while nothing else happens. The thread whose processor time grew is the one that has the
// connection.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "targets.hpp"

namespace leantea::lab {

struct SpreadOptions {
  Targets targets{.servers = {"ours"}, .workers = 2};
  std::size_t connections = 128;
  int rounds = 5;  ///< servers started anew, for each kind
  std::string json;
};

/// Processor time of each thread so far.
using ThreadTimes = std::map<pid_t, std::chrono::nanoseconds>;

/// The thread whose time grew most, 0 when none did.
pid_t busiest(const ThreadTimes& before, const ThreadTimes& after);

/// How far the fullest and the emptiest of `loops` are from an equal share at most, as a part of that share.
/// `counts` has those that have connections.
double unevenness(const std::vector<std::size_t>& counts, std::size_t loops);

/// Measures and prints. The exit code.
int spread(const SpreadOptions& options);

}  // namespace leantea::lab

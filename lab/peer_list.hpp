// `leantea-lab peers`: which rivals there are, which of them are installed, and what the others need.
#pragma once

#include <string>
#include <vector>

namespace leantea::lab {

/// The command's arguments.
struct PeerListOptions {
  std::vector<std::string> names;  ///< of peers, or `all`; empty: all
  std::string needs;  ///< debian, npm or target: only what has to be had of that, a name a line
};

/// Prints. The exit code is 0. Throws Failure (exit code 2) on a name that is no peer.
int list_peers(const PeerListOptions& options);

}  // namespace leantea::lab

// `leantea-lab idle-memory`: what an idle keep-alive connection costs a server in user memory.
//
// Opens connections, one request on each, and leaves them open: (memory after − memory before) ÷ connections.
// "Before" is taken when the server has already answered on a few connections, so that what it sets up once is
// not in it.
#pragma once

#include <cstdint>
#include <string>

#include "process.hpp"
#include "servers.hpp"
#include "targets.hpp"

namespace leantea::lab {

struct IdleMemoryOptions {
  Targets targets{.servers = {"ours"}};
  std::size_t connections = 15'000;
  std::string json;
};

/// The memory of `server` before and after `connections` connections were opened.
struct IdleMemory {
  std::string server;
  Memory empty;   ///< started, nothing asked
  Memory before;  ///< a few connections answered and open
  Memory after;   ///< all of them
  std::size_t connections = 0;

  /// Bytes of private memory, and with the process's part of shared memory, for each connection.
  double anonymous() const;
  double proportional() const;
};

IdleMemory measure_idle_memory(Server& server, std::size_t connections);

/// What a server needs room for beside the wanted connections, to be measured.
inline constexpr std::size_t kIdleSpare = 512;

/// As many of `wanted` connections as both sides may have descriptors for; says so when these are fewer.
std::size_t allowed_connections(std::size_t wanted);

/// Measures and prints. The exit code.
int idle_memory(const IdleMemoryOptions& options);

}  // namespace leantea::lab

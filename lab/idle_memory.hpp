// `leantea-lab idle-memory`: what an idle keep-alive connection costs a server in user memory.
//
// Opens connections, one request on each, and leaves them open: (memory after − memory before) ÷ connections.
// "Before" is taken when the server has already answered on a few connections, so that what it sets up once is
// not in it.
#pragma once

#include <cstdint>
#include <string>

#include "targets.hpp"

namespace leantea::lab {

struct IdleMemoryOptions {
  Targets targets{.servers = {"ours"}};
  std::size_t connections = 15'000;
  std::string json;
};

/// Measures and prints. The exit code.
int idle_memory(const IdleMemoryOptions& options);

}  // namespace leantea::lab

// ServerProcess: a server in a process of its own, with few file descriptors. For tests that run it out of
// them: here the client would run out first.
//
// REQUIRES: no other thread runs when it is made (it forks).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string_view>

namespace leantea::test {

class ServerProcess {
 public:
  /// Serves /health.
  ServerProcess(std::string_view backend, unsigned descriptors);
  /// Ends it.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  /// Processor time it has used.
  std::chrono::milliseconds cpu_time() const;

 private:
  pid_t pid_ = -1;
  int lifeline_ = -1;  ///< the process ends when this is closed
  std::uint16_t port_ = 0;
};

}  // namespace leantea::test

// Backend: what moves bytes between sockets and connections. One object per running server.
//
// start() and the destructor are called from the owner's thread; drain() and stop() from any thread.
// A backend knows connections (app/connection.hpp) and engines (app/engine.hpp) and nothing of HTTP.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine.hpp"
#include "net/listener.hpp"

namespace leantea::net {

struct BackendOptions {
  /// Loops (threads backend: accept workers). At least 1.
  unsigned loops = 1;
  /// With threads: most connection threads at once.
  unsigned max_connection_threads = 1024;
};

class Backend {
 public:
  virtual ~Backend() = default;  ///< stops at once when still running, and joins its threads

  /// Takes the listeners, one list per loop (listeners[loop][address]), and starts serving on threads
  /// of its own.
  virtual std::expected<void, std::string> start(std::vector<std::vector<Listener>> listeners) = 0;
  /// Stops accepting (connections already in the listen queue are still taken), lets what is under
  /// way finish until `deadline` from now, then cuts the rest. May be called again with a nearer one.
  virtual void drain(std::chrono::milliseconds deadline) = 0;
  /// Waits until every loop has ended after a drain().
  virtual void join() = 0;
  /// "reactor", "uring", "threads", "libuv".
  virtual std::string_view name() const noexcept = 0;
};

/// Makes the backend `name`, or says what is wrong: unknown, not built (naming the Debian package), or
/// not allowed by this kernel.
std::expected<std::unique_ptr<Backend>, std::string> make_backend(std::string_view name,
                                                                  app::ServerShared& shared,
                                                                  const BackendOptions& options);

/// The names of the backends in this build, the default first.
std::span<const std::string_view> backend_names() noexcept;

}  // namespace leantea::net

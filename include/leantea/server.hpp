// Server: a router on sockets.
//
// Made and started on one thread; drain(), stop(), port() and addresses() may be called from any thread
// once start() has returned. Any number of servers may run in one process.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leantea/limits.hpp>
#include <leantea/router.hpp>

namespace leantea {

class Server;

struct ServerOptions {
  /// Listens on host:port when `addresses` is empty. An empty host is all interfaces, IPv4 and IPv6. Port 0
  /// takes a free one, see Server::port().
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;
  /// Any of "127.0.0.1:8080", "[::1]:8080", ":8080" (all interfaces, IPv4 and IPv6), "unix:/path",
  /// "systemd" (inherited sockets, LISTEN_FDS).
  std::vector<std::string> addresses{};

  /// "reactor", "uring", "threads", "libuv" or "auto", each with ":N" for N loops if you like. Empty: the
  /// environment variable LEANTEA_HTTP_BACKEND, else "reactor".
  std::string backend{};
  /// Loops, when the backend's name does not say. Handlers run on all of them.
  unsigned threads = 1;
  /// Threads for offload(); 0 for one per processor.
  unsigned workers = 0;
  /// With the threads backend: the most connections served at once.
  unsigned connection_threads = 1024;

  /// Listen queue, the kernel caps it (net.core.somaxconn).
  int backlog = 4096;
  bool tcp_nodelay = true;
  /// Seconds the kernel may hold a new connection back until its first byte; 0: not at all.
  int defer_accept_seconds = 0;

  Limits limits{};

  /// Gets the server's log lines (a handler's exception, accepting paused, …), without a line end, from
  /// any of its threads. Empty: they go to standard error.
  std::function<void(std::string_view)> log{};
  /// Called by start() and run() when the server listens, to say where. With run(): signals that come
  /// from then on are waited for.
  std::function<void(const Server&)> on_start{};
};

class Server {
 public:
  explicit Server(Router router, ServerOptions options = {});
  Server(Server&&) noexcept;
  Server& operator=(Server&&) noexcept;
  /// Stops at once when it is still running.
  ~Server();

  /// Checks router and options, opens the sockets and serves on threads of its own; or says what is
  /// wrong and what to change. Not to be called twice.
  std::expected<void, std::string> start();
  /// The port of the first TCP address, 0 when there is none. REQUIRES: started.
  std::uint16_t port() const noexcept;
  /// The addresses listened on, as printed. REQUIRES: started.
  const std::vector<std::string>& addresses() const noexcept;
  /// The backend in use, e.g. "reactor". REQUIRES: started.
  std::string_view backend() const noexcept;
  /// Its loops (with the threads backend: those that accept). REQUIRES: started.
  unsigned loops() const noexcept;
  /// Connections open now.
  std::size_t connections() const noexcept;

  /// Begins a graceful end and returns: no new connections, requests that have come are answered, the
  /// last of a connection with `Connection: close`; one that waits for a request has half a second in
  /// which it may still bring one. After `deadline` (default Limits::shutdown_timeout) stop tokens fire
  /// and the rest is cut. Before start(): the server ends as soon as it has started.
  void drain(std::optional<std::chrono::milliseconds> deadline = std::nullopt);
  /// drain(0ms) and wait().
  void stop();
  /// Waits until a drain is done and all threads have ended; returns at once before start(). Neither
  /// wait() nor stop() may be called by a handler, which they would wait for; drain() may.
  void wait();

  /// start() unless that was done, then wait for SIGTERM or SIGINT or drain(), then drain; a second
  /// signal cuts at once. The exit code for main: 0, or 2 with a line on standard error when start()
  /// failed. The two signals are handled and unblocked meanwhile; what was before comes back.
  int run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The backends in this build, the default first.
std::vector<std::string_view> backends();

}  // namespace leantea

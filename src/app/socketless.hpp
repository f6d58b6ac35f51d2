// Socketless: a connection and its engine driven by hand, in place of a backend. For the test client and
// for tests of the protocol: bytes in, bytes out, time as the test says.
//
// One thread; offloaded functions run on workers and are waited for in settle().
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "app/application.hpp"
#include "app/connection.hpp"
#include "app/engine.hpp"
#include "app/worker_pool.hpp"

namespace leantea::app {

/// A server without sockets: the application, its workers and one engine.
class SocketlessServer final : public Waker {
 public:
  /// REQUIRES: the router has no problems.
  SocketlessServer(Router router, Limits limits);
  ~SocketlessServer() override;

  Engine& engine() noexcept { return *engine_; }
  const Limits& limits() const noexcept { return limits_; }
  std::vector<std::string> log() const;

  /// Moves time on; deadlines in between fire in their order.
  void elapse(std::chrono::milliseconds time);
  /// Delivers what workers have done. True when something was delivered.
  bool run_posted();
  /// Waits (real time, at most five seconds) until a worker has handed something back.
  bool wait_for_worker();

  void wake() noexcept override;

 private:
  Limits limits_;
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  bool awake_ = false;            // guarded by mutex_
  std::vector<std::string> log_;  // guarded by mutex_
  Application application_;
  std::unique_ptr<WorkerPool> workers_;
  std::unique_ptr<ServerShared> shared_;
  std::unique_ptr<Engine> engine_;
};

/// One connection, and a peer that takes all that is sent unless it is told not to.
class SocketlessConnection {
 public:
  explicit SocketlessConnection(SocketlessServer& server);
  ~SocketlessConnection();

  /// Gives the connection bytes in one piece, then drives it until it waits.
  void receive(std::string_view bytes);
  void receive_end();
  void reset();
  /// Drives the connection: sends what it has to send, as far as the peer takes it.
  void drive();
  void elapse(std::chrono::milliseconds time);
  /// Lets happen what happens next: a worker comes back, or time passes to the next deadline. False when
  /// nothing will ever happen without the peer.
  bool wait();
  /// A request is in progress.
  bool busy() const noexcept { return connection_ != nullptr && connection_->in_progress() != 0; }

  /// How many more bytes the peer takes; no bound at first.
  void set_window(std::size_t bytes) { window_ = bytes; }
  /// All bytes sent since the last call.
  std::string take_sent() { return std::exchange(sent_, {}); }
  std::string_view sent() const noexcept { return sent_; }
  /// The socket was closed by the server, or the connection is gone.
  bool closed() const noexcept { return connection_ == nullptr; }
  /// The server shut down its sending side.
  bool write_shut_down() const noexcept { return write_shut_down_; }
  bool was_reset() const noexcept { return was_reset_; }
  bool wants_input() const noexcept { return connection_ != nullptr && connection_->wants_input(); }
  /// REQUIRES: !closed().
  Connection& connection() noexcept { return *connection_; }

 private:
  SocketlessServer& server_;
  std::unique_ptr<Connection> connection_;
  std::string sent_;
  std::size_t window_ = SIZE_MAX;
  bool write_shut_down_ = false;
  bool was_reset_ = false;
};

}  // namespace leantea::app

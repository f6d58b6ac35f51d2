// ConnectionThread: a thread that serves one connection after another, each from its first byte to its last,
// with an engine of its own. serve.cpp is the way of one connection; how the thread waits is here.
//
// start(), give(), dismiss(), drain(), wake() and join() are called from other threads, as said there;
// everything else is the thread's own.
//
// It waits in one of two places:
//
//   in receive()   while all requests are answered: the wait for the next one costs no system call of its
//                  own, and a request is one receive and one send. The engine's deadlines bound it
//                  (SO_RCVTIMEO); the only one who has to wake it is a drain, which shuts the receiving
//                  side down for that.
//   in poll()      while a handler waits or output is blocked: on the socket and a WakeEvent.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "app/connection.hpp"
#include "app/engine.hpp"
#include "net/clock.hpp"
#include "net/socket.hpp"
#include "net/threads/wake_event.hpp"

namespace leantea::net::threads {

class Crew;

/// A connection together with its socket. Lives on the stack of its thread.
struct Channel {
  Channel(app::Engine& engine, int socket) noexcept : connection(engine), fd(socket) {}

  app::Connection connection;  ///< the first member: see channel_of()
  const int fd;
  int receive_timeout = 0;     ///< SO_RCVTIMEO in milliseconds; 0: none
  bool write_blocked = false;  ///< the kernel took less than was offered: wait for room
  bool end_seen = false;       ///< the peer's FIN has been told to the connection
  bool input_shut = false;     ///< a drain has shut down the receiving side
  bool timed_out = true;  ///< the last receive() came back without anything; true before the first
};

class ConnectionThread final : public app::Waker {
 public:
  static constexpr base::Millis kNever = std::numeric_limits<base::Millis>::max();

  ConnectionThread(app::ServerShared& shared, Crew& crew);
  ~ConnectionThread() override;
  ConnectionThread(const ConnectionThread&) = delete;
  ConnectionThread& operator=(const ConnectionThread&) = delete;

  /// Starts the thread, which comes home to its crew after every connection, but is not there yet. False:
  /// the system has no thread or no descriptor for it.
  bool start(unsigned index);
  void join() { thread_.join(); }

  /// Hands over a socket that has a place (Engine::take_place). REQUIRES: the thread is home, and the crew
  /// has given it away.
  void give(int fd);
  /// Lets the thread end. REQUIRES: as for give().
  void dismiss() { give(kDismissed); }

  void wake() noexcept override { wake_.set(); }
  /// Makes the thread look at Crew::drain_until(), wherever it waits. Any thread.
  void drain() noexcept;

 private:
  static constexpr int kNothing = -1;
  static constexpr int kDismissed = -2;

  // The bounds of a turn; see readiness/loop.hpp.
  static constexpr int kReceivesPerTurn = 4;
  static constexpr int kSendsPerTurn = 4;
  static constexpr std::size_t kReceiveBytes = 64 * 1024;
  /// Free output blocks (4 KiB each) that a thread may keep between two connections: what one of the
  /// usual size needs, and no more, as there may be a thousand threads.
  static constexpr std::size_t kKeepBlocks = 8;
  /// While input_shut: how often input is looked for.
  static constexpr int kLookMs = 5;
  /// The same while no request is under way: there may be a thousand such threads when a drain begins, and
  /// looking as often as above cost them 0.4 s of processor time more.
  static constexpr int kLookAtRestMs = 25;
  /// The steps of the receive timeout end here: see bound_receive().
  static constexpr int kFinestStepMs = 32;

  // The thread.
  void run();
  int next_socket();
  void renew_engine();
  void wait_for_workers();

  // Serving one connection (serve.cpp).
  void serve(int fd);
  void read_ready(Channel& channel);
  void take_input(Channel& channel, IoResult got, std::span<char> space);
  bool settle(Channel& channel);
  void flush(Channel& channel);
  void close(Channel& channel);

  // Waiting for what happens next.
  bool rests(const Channel& channel) const noexcept;
  void wait_in_receive(Channel& channel);
  void bound_receive(Channel& channel, int wait_ms) noexcept;
  IoResult receive_unless_draining(Channel& channel, std::span<char> space) noexcept;
  void wait_in_poll(Channel& channel);
  void channel_ready(Channel& channel, short events);
  static short wanted_events(const Channel& channel) noexcept;
  void tell_time() noexcept { engine_->set_now(clock_.read()); }
  void turn();

  static int descriptor_of(const app::Connection& connection);

  // Constant after start().
  app::ServerShared& shared_;
  Crew& crew_;
  std::thread thread_;

  // The thread's own.
  Clock clock_;
  std::optional<app::Engine> engine_;
  base::Millis draining_until_ = kNever;
  std::unique_ptr<char[]> receive_buffer_;

  // Any thread.
  WakeEvent wake_;
  enum class Waits : std::uint8_t { kElsewhere, kInReceive, kShutDown };
  std::atomic<Waits> waits_{Waits::kElsewhere};

  std::mutex mutex_;
  std::condition_variable given_;
  // Guarded by mutex_.
  int next_fd_ = kNothing;  ///< given, and not taken
  int fd_ = kNothing;       ///< being served; drain() may use it while it holds the mutex
};

}  // namespace leantea::net::threads

// Loop: one event loop of the io_uring backend. It hands operations to its ring, moves bytes between
// completions and connections, and knows nothing of what the bytes mean.
//
// run() is the loop's thread, and the ring's from its making to its end: the kernel sends the work of closing
// a ring to the thread that made it, as a signal that interrupts what that does then. open() comes before
// it, from the owner's. wake(), drain() and give() may be called from any thread. Everything else is the
// loop's own.
//
// Invariants:
//  1. in the steady state a request costs one completed receive and one send, and a turn, with all of its
//     requests, one system call;
//  2. the kernel reads output between the settling of a connection and the next completions, a time in
//     which nothing happens to connections: so a connection may drop its output at any other time;
//  3. nothing is destroyed inside its own callback, and a channel is not used again before all its operations
//     have ended, so a completion always names the channel it was asked for;
//  4. no receive buffer is held from one turn to the next, and a receive that found none is started again at
//     the end of its turn, before those that brought something: the greediest peers take turns;
//  5. every turn is bounded: by the completions taken at once, and by the memory of the BufferRing.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <expected>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/engine.hpp"
#include "net/accept_gate.hpp"
#include "net/clock.hpp"
#include "net/line_a_minute.hpp"
#include "net/listener.hpp"
#include "net/refused_sockets.hpp"
#include "net/socket.hpp"
#include "net/uring/channel.hpp"
#include "net/uring/ring.hpp"

namespace leantea::net::uring {

/// What the loops of one backend share. Constant while they run, but for what guards itself.
struct LoopGroup {
  std::vector<std::unique_ptr<class Loop>> loops;
  LineAMinute shortage_line;  ///< "out of descriptors"
};

class Loop final : public app::Waker {
 public:
  Loop(app::ServerShared& shared, LoopGroup& group, unsigned index, const RingSizes& sizes = {});
  ~Loop() override;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  using Opened = std::expected<void, std::string>;

  /// Takes the listeners, and makes what other threads may use at once.
  Opened open(std::vector<Listener> listeners);
  /// Makes the rest, says in `opened` how that went, and serves until a drain is complete.
  void run(std::promise<Opened> opened);

  void wake() noexcept override;
  /// Begins a drain that ends at `deadline` (monotonic), or brings its end forward.
  void drain(base::Millis deadline) noexcept;
  /// Hands a socket that has a place (Engine::take_place) to this loop. False: it has ended.
  bool give(int fd);
  /// Connections open or on their way here.
  std::uint32_t load() const noexcept;

 private:
  using Event = Ring::Event;
  struct Gift;

  /// A listener and whether the ring accepts from it. Its address is the ring's tag, so it does not move.
  struct alignas(8) Port {
    explicit Port(Listener from) noexcept : listener(std::move(from)) {}
    Listener listener;
    bool watched = false;     ///< an accept is under way
    bool cancelling = false;  ///< and has been asked to end
  };

  /// Bytes offered to the kernel in one send, and so per connection and turn. More than it has room for.
  static constexpr std::size_t kSendBytes = 1024 * 1024;
  /// The most in a send whose completion may come late (Ring::send): fits into the buffer that a socket begins with,
  /// so that only a client that does not read is kept waiting.
  static constexpr std::size_t kLastBytes = 16 * 1024;

  // One turn.
  void turn();
  int wait_ms() const noexcept;
  void dispatch(const Event& event);
  void make_due(Channel& channel);
  void settle_due();
  void keep_time();

  // Listeners.
  void accept_done(Port& port, const Event& event);
  void accepted(int fd);
  void welcome(int fd);
  void open_channel(int fd);
  bool accept_one(Port& port);
  void accept_failed(IoError error);
  Loop& home_for_next() noexcept;
  void pause_accepting(std::string_view why);
  void resume_accepting();
  void watch(Port& port) noexcept;
  void watch_ports();
  void unwatch_ports() noexcept;

  // Channels.
  void operation_done(Channel& channel, Operation operation, const Event& event);
  void receive_done(Channel& channel, const Event& event);
  void receive_failed(Channel& channel, int result);
  void receive_end(Channel& channel);
  void take_bytes(Channel& channel, std::string_view bytes);
  void deliver_held(Channel& channel);
  void send_done(Channel& channel, int result);
  void end_seen(Channel& channel, int result);
  void settle(Channel& channel);
  void flush(Channel& channel);
  void set_operations(Channel& channel);
  void start_receive(Channel& channel);
  void start(Channel& channel, Operation operation) noexcept;
  void cancel_operations(Channel& channel) noexcept;
  void close_channel(Channel& channel);

  // The end.
  void begin_drain(base::Millis deadline);
  void close_ports();
  void end_ports();
  bool may_end() noexcept;

  static int descriptor_of(const app::Connection& connection);

  /// A loop with this many connections more than a neighbour, and a sixteenth of them on top, gives new
  /// ones away: the kernel's hash spreads 128 connections over two loops with a standard deviation of 11
  /// between them, and handing one over costs about 2 µs.
  static constexpr std::uint32_t kGiveAbove = 4;
  /// Neighbours looked at per new connection.
  static constexpr unsigned kNeighbours = 4;

  // Constant.
  app::ServerShared& shared_;
  LoopGroup& group_;
  const unsigned index_;
  const RingSizes sizes_;

  // The loop's thread only.
  Clock clock_;
  app::Engine engine_;
  Ring ring_;
  ChannelSlab channels_;
  std::vector<std::unique_ptr<Port>> ports_;
  AcceptGate gate_;
  RefusedSockets refused_;
  std::deque<int> waiting_;    ///< sockets that the ring accepted and that have no place yet
  std::vector<Channel*> due_;  ///< to be settled at the end of this turn
  std::vector<Channel*> fed_;  ///< of them: whose receives are to be started last
  unsigned next_neighbour_ = 0;
  base::Millis ports_close_at_ = AcceptGate::kNever;
  bool ports_closed_ = false;  ///< they go when their accepts have ended
  base::Millis draining_until_ = AcceptGate::kNever;

  // Any thread.
  std::atomic<bool> woken_{false};
  std::atomic<base::Millis> drain_until_{AcceptGate::kNever};
  std::atomic<std::uint32_t> load_{0};
  /// Gifts on their way, or kClosed: none are taken, not yet or not any more.
  static constexpr std::uint32_t kClosed = UINT32_MAX;
  std::atomic<std::uint32_t> gifts_{kClosed};
};

}  // namespace leantea::net::uring

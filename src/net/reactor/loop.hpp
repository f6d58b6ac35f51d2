// Loop: one event loop of the reactor. It waits for readiness, moves bytes between sockets and
// connections, and knows nothing of what the bytes mean.
//
// run() is the loop's thread; open() comes before it, from the owner's. wake(), drain() and give() may be
// called from any thread. Everything else is the loop's own.
//
// Invariants:
//  1. in the steady state a request costs one receive and one send, and no other system call: interest
//     in a socket changes only when the connection's wishes do (back-pressure, a full send buffer);
//  2. nothing is destroyed inside its own callback, and a channel closed in a turn is not reused before the
//     turn's end, so an event that names it is recognised and dropped;
//  3. every turn is bounded: by the events taken at once, and by the k…PerTurn below (a drain's first
//     turn also closes all idle connections).
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "app/engine.hpp"
#include "net/accept_gate.hpp"
#include "net/clock.hpp"
#include "net/line_a_minute.hpp"
#include "net/listener.hpp"
#include "net/reactor/channel.hpp"
#include "net/reactor/poller.hpp"
#include "net/refused_sockets.hpp"
#include "net/socket.hpp"

namespace leantea::net {

/// What the loops of one reactor share. Constant while they run, but for what guards itself.
struct LoopGroup {
  std::vector<std::unique_ptr<class Loop>> loops;
  LineAMinute shortage_line;  ///< "out of descriptors"
};

class Loop final : public app::Waker {
 public:
  Loop(app::ServerShared& shared, LoopGroup& group, unsigned index);
  ~Loop() override;
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Makes what the loop needs and takes its listeners.
  std::expected<void, std::string> open(std::vector<Listener> listeners);
  /// Serves until a drain is complete.
  void run();

  void wake() noexcept override;
  /// Begins a drain that ends at `deadline` (monotonic), or brings its end forward.
  void drain(base::Millis deadline) noexcept;
  /// Hands a socket that has a place (Engine::take_place) to this loop. False: it has ended.
  bool give(int fd);
  /// Connections open or on their way here.
  std::uint32_t load() const noexcept;

 private:
  using Event = Poller::Event;
  struct Gift;

  /// A listener and whether the poller watches it. Its address is the poller's tag, so it does not move.
  struct Port {
    explicit Port(Listener from) noexcept : listener(std::move(from)) {}
    Listener listener;
    bool watched = false;
  };

  // The bounds of a turn.

  /// Connections accepted from one listener: with their first request each is about 20 µs, so a burst
  /// of new ones keeps the established waiting for little more than a millisecond.
  static constexpr int kAcceptsPerTurn = 64;
  /// Receives from one connection while each fills its buffer: 256 KiB, some 50 µs of copying.
  static constexpr int kReceivesPerTurn = 4;
  /// Sends to one connection, each of up to kMaxPieces blocks: about 1 MiB.
  static constexpr int kSendsPerTurn = 4;
  /// Bytes asked for in one receive. Above 64 KiB larger bodies get no cheaper.
  static constexpr std::size_t kReceiveBytes = 64 * 1024;

  // The way of a small request, all of it inlined into run() (loop.cpp says why), leaves first.
  [[gnu::always_inline]] inline bool send_once(Channel& channel);
  [[gnu::always_inline]] inline void flush(Channel& channel);
  [[gnu::noinline]] void flush_more(Channel& channel);
  [[gnu::always_inline]] inline void settle(Channel& channel);
  [[gnu::always_inline]] inline bool receive_once(Channel& channel);
  [[gnu::always_inline]] inline void read_ready(Channel& channel);
  [[gnu::noinline]] void read_more(Channel& channel);
  [[gnu::always_inline]] inline void channel_ready(Channel& channel, const Event& event);
  [[gnu::always_inline]] inline void dispatch(const Event& event);

  // One turn.
  [[gnu::always_inline]] inline void turn();
  [[gnu::always_inline]] inline int wait_ms() const noexcept;
  void settle_touched();
  void settle_due();
  void keep_time();

  // Listeners.
  void accept_ready(Port& port);
  bool accept_one(Port& port);
  void open_channel(int fd);
  bool accept_failed(IoError error);
  bool refuse_one(Port& port);
  Loop& home_for_next() noexcept;
  void pause_accepting(std::string_view why);
  void resume_accepting();
  void watch_ports();
  void unwatch_ports() noexcept;

  // Channels.
  Interest wanted_interest(const Channel& channel) const noexcept;
  void set_interest(Channel& channel, Interest interest);
  void close_channel(Channel& channel);

  // The end.
  void begin_drain(base::Millis deadline);
  void close_ports();
  bool may_end() noexcept;

  static int descriptor_of(const app::Connection& connection);

  /// A loop with this many connections more than a neighbour, and a sixteenth on top, gives new ones
  /// away. The kernel's hash alone spreads 128 connections over two loops with a standard deviation of
  /// 11 between them; this keeps the loops within a tenth, and short connections, of which few are open
  /// at a time, mostly stay where they came in, which saves waking the other loop.
  static constexpr std::uint32_t kGiveAbove = 4;
  /// Neighbours looked at per new connection.
  static constexpr unsigned kNeighbours = 4;

  // Constant after open().
  app::ServerShared& shared_;
  LoopGroup& group_;
  const unsigned index_;

  // The loop's thread only.
  Clock clock_;
  app::Engine engine_;
  Poller poller_;
  ChannelSlab channels_;
  std::vector<std::unique_ptr<Port>> ports_;
  AcceptGate gate_;
  RefusedSockets refused_;
  std::vector<Channel*> due_;    ///< to be settled at the end of this turn, or of the next
  std::vector<Channel*> taken_;  ///< those of them being settled; keeps its memory
  unsigned next_neighbour_ = 0;
  base::Millis ports_close_at_ = AcceptGate::kNever;
  /// When keep_time() has something to do. Whatever makes that earlier sets it to 0: look in this turn.
  base::Millis own_due_ = 0;
  base::Millis draining_until_ = AcceptGate::kNever;
  std::unique_ptr<char[]> receive_buffer_;

  // Any thread.
  std::atomic<bool> woken_{false};
  std::atomic<base::Millis> drain_until_{AcceptGate::kNever};
  std::atomic<std::uint32_t> load_{0};
  /// Gifts on their way, or kClosed: no more are taken.
  std::atomic<std::uint32_t> gifts_{0};
  static constexpr std::uint32_t kClosed = UINT32_MAX;
};

}  // namespace leantea::net

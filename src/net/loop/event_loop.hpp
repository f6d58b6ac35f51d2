// EventLoop: what all event loops have in common beside their way to wait and to move bytes: new connections
// and who takes them, pauses in accepting, what is due of the loop's own, and the order in which a drain ends it.
//
// open() is the owner's thread; begin() and run() are the loop's. wake(), drain(), give() and load() may be called
// from any thread. Everything else is the loop's own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/engine.hpp"
#include "net/accept_gate.hpp"
#include "net/clock.hpp"
#include "net/line_a_minute.hpp"
#include "net/listener.hpp"
#include "net/refused_sockets.hpp"
#include "net/socket.hpp"

namespace leantea::net {

class EventLoop : public app::Waker {
 public:
  /// What the loops of one backend share. Constant while they run, but for what guards itself.
  struct Group {
    std::vector<std::unique_ptr<EventLoop>> loops;
    LineAMinute shortage_line;  ///< "out of descriptors"
  };
  using Outcome = std::expected<void, std::string>;

  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  /// Takes the listeners, and makes what other threads may use at once.
  Outcome open(std::vector<Listener> listeners);
  /// Makes what the loop's thread has to make, and listens.
  Outcome begin();
  /// Serves until a drain is complete. REQUIRES: begin() has gone well.
  virtual void run() = 0;

  void wake() noexcept final;
  /// Begins a drain that ends at `deadline` (monotonic), or brings its end forward.
  void drain(base::Millis deadline) noexcept;
  /// Hands a socket that has a place (Engine::take_place) to this loop. False: it takes none, not yet or
  /// not any more.
  bool give(int fd);
  /// Connections open or on their way here.
  std::uint32_t load() const noexcept;

 protected:
  /// A listener and what the loop has asked for it. Its address is a tag, so it does not move.
  struct alignas(8) Port {
    explicit Port(Listener from) noexcept : listener(std::move(from)) {}
    Listener listener;
    bool watched = false;     ///< the loop hears of new connections
    bool cancelling = false;  ///< of a ring: and it has been asked to end that
  };

  EventLoop(app::ServerShared& shared, Group& group, app::PeerInquiry inquiry);

  // What a loop does in its own way.

  /// Makes what interrupt() needs. The owner's thread.
  virtual Outcome open_waker() = 0;
  /// Makes the rest of what the loop waits with.
  virtual Outcome open_wait() { return {}; }
  /// Any thread: lets the loop's wait end, and woken() be called.
  virtual void interrupt() noexcept = 0;
  /// Takes a connection that has a place.
  virtual void open_channel(int fd) = 0;
  /// Takes one from the listen queue. True when another may be waiting.
  virtual bool accept_one(Port& port) = 0;
  /// Asks to hear of new connections on all ports that are not watched.
  virtual void watch_ports() = 0;
  virtual void unwatch_ports() noexcept = 0;
  /// Drops the ports, those that are still watched (they have been asked to end) when they have ended.
  virtual void forget_ports() = 0;
  /// The gate is open again.
  virtual void resume_accepting();

  // The parts of a turn.

  /// How long to wait for events; -1: for ever.
  [[gnu::always_inline]] inline int wait_ms() const noexcept {
    const int wait = engine_.wait_ms();
    if (own_due_ == AcceptGate::kNever) [[likely]]
      return wait;
    const auto own = static_cast<int>(std::max<base::Millis>(own_due_ - engine_.now().mono, 0));
    return wait < 0 ? own : std::min(wait, own);
  }
  /// What interrupt() asked for.
  void woken();
  /// At the end of a turn: what is due of the loop's own.
  [[gnu::always_inline]] inline void keep_time() {
    if (own_due_ <= engine_.now().mono) [[unlikely]]
      do_what_is_due();
  }
  bool is_draining() const noexcept { return draining_until_ != AcceptGate::kNever; }
  /// True when a drain is complete; nothing is given to the loop from then on.
  bool may_end() noexcept;

  // New connections.

  /// The next connection from a listen queue. Does not wait.
  static AcceptResult take_next(const Port& port) noexcept {
    return accept_next(port.listener.fd(), port.listener.tcp_nodelay(), Blocking::kNo);
  }
  /// Gives a connection that has a place to this loop, or to a neighbour that has clearly less to do.
  void welcome(int fd);
  /// Turns a connection away that has no place.
  void refuse(int fd);
  /// True when another connection may be waiting; else accepting pauses, where that helps.
  bool accept_failed(IoError error);
  void pause_accepting(std::string_view why);
  void pause_for_places() { pause_accepting("as many connections as Limits::connections allows"); }
  /// Pauses without a word: again in a moment.
  void try_later() noexcept {
    gate_.shut(engine_.now().mono);
    own_due_ = 0;
  }

  /// After each change of the number of connections.
  void note_load() noexcept { load_.store(engine_.connection_count(), std::memory_order_relaxed); }
  /// The last thing for a channel that is closed.
  void socket_done(int fd, bool reset);

  // The loop's thread only.
  Clock clock_;
  app::Engine engine_;
  AcceptGate gate_;
  std::vector<std::unique_ptr<Port>> ports_;
  base::Millis draining_until_ = AcceptGate::kNever;

 private:
  struct Gift;

  EventLoop& home_for_next() noexcept;
  void do_what_is_due();
  void begin_drain(base::Millis deadline);
  void close_ports();

  /// A loop with this many connections more than a neighbour, and a sixteenth on top, gives new ones
  /// away (2 µs each). The kernel's hash alone spreads 128 connections over two loops with a standard deviation
  /// of 11 between them; this keeps the loops within a tenth, and short connections, of which few are open
  /// at a time, mostly stay where they came in, which saves waking the other loop.
  static constexpr std::uint32_t kGiveAbove = 4;
  /// Neighbours looked at per new connection.
  static constexpr unsigned kNeighbours = 4;

  app::ServerShared& shared_;
  Group& group_;

  // The loop's thread only.
  RefusedSockets refused_;
  unsigned next_neighbour_ = 0;
  base::Millis ports_close_at_ = AcceptGate::kNever;
  /// When do_what_is_due() has something to do. Whatever makes that earlier sets it to 0: look in this turn.
  base::Millis own_due_ = 0;

  // Any thread.
  std::atomic<bool> woken_{false};
  std::atomic<base::Millis> drain_until_{AcceptGate::kNever};
  std::atomic<std::uint32_t> load_{0};
  /// Gifts on their way, or kClosed: none are taken.
  static constexpr std::uint32_t kClosed = UINT32_MAX;
  std::atomic<std::uint32_t> gifts_{kClosed};
};

}  // namespace leantea::net

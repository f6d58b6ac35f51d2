// Loop: one event loop of libuv. It waits for readiness, moves bytes between sockets and connections, and
// knows nothing of what the bytes mean. Reads side by side with reactor/loop.hpp (diff).
//
// run() is the loop's thread; open() comes before it, from the owner's. wake(), drain() and give() may be
// called from any thread. Everything else is the loop's own.
//
// Of libuv's two ways this is the one with uv_poll_t: libuv says what is ready, and accept, recv and send are
// ours. With its streams there would be a heap of write requests beside the output queue, no word of a
// client that leaves while its input is not wanted, and two more callbacks on the way of each request.
//
// Where libuv is bent to what the other backends do:
//  - its callbacks come from inside uv_run(), so what is due once per turn (the time, mail, deadlines) is
//    done around it, see turn();
//  - it tells nothing about a socket it watches for nothing, so UV_PRIORITIZED stands for that: with it an
//    error or a hang-up is told;
//  - a handle lives until its close callback: a channel is not used again before.
//
// Invariants:
//  1. in the steady state a request costs one receive and one send, and no other system call: interest
//     in a socket changes only when the connection's wishes do (back-pressure, a full send buffer);
//  2. nothing is destroyed inside its own callback but a channel, as the last thing there, and libuv
//     drops the events of a handle that is closed;
//  3. every turn is bounded: by the events libuv takes at once, and by the k…PerTurn below.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <uv.h>

#include "app/engine.hpp"
#include "net/accept_gate.hpp"
#include "net/clock.hpp"
#include "net/libuv/channel.hpp"
#include "net/line_a_minute.hpp"
#include "net/listener.hpp"
#include "net/refused_sockets.hpp"
#include "net/socket.hpp"

namespace leantea::net::libuv {

/// What the loops of one server share. Constant while they run, but for what guards itself.
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
  struct Gift;

  /// A listener and libuv's handle for it. Does not move, and lives until libuv has forgotten the handle.
  struct Port {
    explicit Port(Listener from) noexcept : listener(std::move(from)) {}
    Listener listener;
    uv_poll_t poll{};
    bool watched = false;
  };

  // The bounds of a turn; see reactor/loop.hpp. libuv takes up to 1,024 events at once.
  static constexpr int kAcceptsPerTurn = 64;
  static constexpr int kReceivesPerTurn = 4;
  static constexpr int kSendsPerTurn = 4;
  static constexpr std::size_t kReceiveBytes = 64 * 1024;
  /// Events after which the clock is read again within a turn: 1.3 ms, as long as a turn of the reactor.
  static constexpr unsigned kEventsPerTime = 256;

  // libuv calls.
  static void on_wake(uv_async_t* handle);
  static void on_time(uv_timer_t* handle);
  static void on_port(uv_poll_t* handle, int status, int events);
  static void on_channel(uv_poll_t* handle, int status, int events);
  static void on_channel_closed(uv_handle_t* handle);
  static void on_port_closed(uv_handle_t* handle);

  // One turn.
  void turn();
  int wait_ms() const noexcept;
  void set_timer(int wait_ms) noexcept;
  void event_comes() noexcept;
  void settle_touched();
  void keep_time();

  // The way of a small request.
  void channel_ready(Channel& channel, int status, int events);
  void read_ready(Channel& channel);
  void settle(Channel& channel);
  void flush(Channel& channel);

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
  int watch(Channel& channel, Interest interest) noexcept;
  void close_channel(Channel& channel);

  // The end.
  void begin_drain(base::Millis deadline);
  void close_ports();
  void forget_ports();
  bool may_end() noexcept;

  static int descriptor_of(const app::Connection& connection);

  // See reactor/loop.hpp.
  static constexpr std::uint32_t kGiveAbove = 4;
  static constexpr unsigned kNeighbours = 4;

  // Constant after open().
  app::ServerShared& shared_;
  LoopGroup& group_;
  const unsigned index_;

  // The loop's thread only.
  Clock clock_;
  app::Engine engine_;
  ChannelSlab channels_;
  uv_loop_t loop_{};
  uv_timer_t timer_{};
  bool opened_ = false;
  std::vector<std::unique_ptr<Port>> ports_;
  AcceptGate gate_;
  RefusedSockets refused_;
  std::vector<Channel*> due_;    ///< to be settled at the end of this turn, or of the next
  std::vector<Channel*> taken_;  ///< those of them being settled; keeps its memory
  unsigned events_ = 0;          ///< of this turn
  unsigned next_neighbour_ = 0;
  base::Millis timer_due_ = AcceptGate::kNever;  ///< what timer_ is set to
  base::Millis ports_close_at_ = AcceptGate::kNever;
  base::Millis draining_until_ = AcceptGate::kNever;
  std::unique_ptr<char[]> receive_buffer_;

  // Any thread.
  uv_async_t wake_{};
  std::atomic<base::Millis> drain_until_{AcceptGate::kNever};
  std::atomic<std::uint32_t> load_{0};
  /// Gifts on their way, or kClosed: no more are taken.
  std::atomic<std::uint32_t> gifts_{0};
  static constexpr std::uint32_t kClosed = UINT32_MAX;
};

}  // namespace leantea::net::libuv

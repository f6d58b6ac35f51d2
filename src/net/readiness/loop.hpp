// Loop: an event loop that waits for readiness, moves bytes between sockets and connections, and knows nothing
// of what the bytes mean. What tells it of readiness is its Poller. See loop/event_loop.hpp for the threads.
//
// Invariants:
//  1. in the steady state a request costs one receive and one send, and no other system call: interest
//     in a socket changes only when the connection's wishes do (back-pressure, a full send buffer);
//  2. nothing is destroyed inside its own callback, and a channel closed in a turn is not reused before the
//     turn's end, so an event that names it is recognised and dropped;
//  3. every turn is bounded: by the events taken at once, and by the k…PerTurn below (a drain's first
//     turn also closes all idle connections).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "net/loop/channel_slab.hpp"
#include "net/loop/event_loop.hpp"
#include "net/readiness/channel.hpp"
#include "net/readiness/poller.hpp"

namespace leantea::net::readiness {

/// Its functions are in loop_impl.hpp, for the file that makes the one kind of loop of its backend.
template <Poller PollerType>
class Loop final : public EventLoop {
 public:
  Loop(app::ServerShared& shared, Group& group);

  void run() override;

 private:
  using Event = typename PollerType::Event;

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

  // The way of a small request, all of it inlined into run() (loop_impl.hpp says why), leaves first.
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
  void settle_touched();
  void settle_due();

  // Listeners.
  void accept_ready(Port& port);
  bool accept_one(Port& port) override;
  bool refuse_one(Port& port);
  void open_channel(int fd) override;
  void watch_ports() override;
  void unwatch_ports() noexcept override;
  void forget_ports() override { ports_.clear(); }

  // Channels.
  Interest wanted_interest(const Channel& channel) const noexcept;
  void set_interest(Channel& channel, Interest interest);
  void close_channel(Channel& channel);

  // The poller.
  Outcome open_waker() override { return poller_.open(); }
  void interrupt() noexcept override { poller_.wake(); }

  // The loop's thread only.
  PollerType poller_;
  ChannelSlab<Channel> channels_;
  std::vector<Channel*> due_;    ///< to be settled at the end of this turn, or of the next
  std::vector<Channel*> taken_;  ///< those of them being settled; keeps its memory
  std::unique_ptr<char[]> receive_buffer_;
};

}  // namespace leantea::net::readiness

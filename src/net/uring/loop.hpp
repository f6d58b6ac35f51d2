// Loop: one event loop of the io_uring backend. It hands operations to its ring, moves bytes between
// completions and connections, and knows nothing of what the bytes mean.
//
// See loop/event_loop.hpp for the threads. The ring is of the loop's thread from its making to its end: the kernel
// sends the work of closing a ring to the thread that made it, as a signal that interrupts what that does then.
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

#include <cstddef>
#include <deque>
#include <string_view>
#include <vector>

#include "net/loop/channel_slab.hpp"
#include "net/loop/event_loop.hpp"
#include "net/uring/channel.hpp"
#include "net/uring/ring.hpp"

namespace leantea::net::uring {

class Loop final : public EventLoop {
 public:
  Loop(app::ServerShared& shared, Group& group, const RingSizes& sizes = {});

  void run() override;

 private:
  using Event = Ring::Event;

  /// Bytes offered to the kernel in one send, and so per connection and turn. More than it has room for.
  static constexpr std::size_t kSendBytes = 1024 * 1024;
  /// The most in a send whose completion may come late (Ring::send): fits into the buffer that a socket begins with,
  /// so that only a client that does not read is kept waiting.
  static constexpr std::size_t kLastBytes = 16 * 1024;

  // One turn.
  void turn();
  void dispatch(const Event& event);
  void make_due(Channel& channel);
  void settle_due();

  // Listeners.
  void accept_done(Port& port, const Event& event);
  void accepted(int fd);
  void open_channel(int fd) override;
  bool accept_one(Port& port) override;
  void resume_accepting() override;
  void watch(Port& port) noexcept;
  void watch_ports() override;
  void unwatch_ports() noexcept override;
  void forget_ports() override;
  void forget_unwatched_ports() noexcept;

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
  bool may_end() noexcept;

  // The ring.
  Outcome open_waker() override { return ring_.open_waker(); }
  Outcome open_wait() override { return ring_.open(sizes_); }
  void interrupt() noexcept override { ring_.wake(); }

  const RingSizes sizes_;

  // The loop's thread only.
  Ring ring_;
  ChannelSlab<Channel> channels_;
  std::deque<int> waiting_;    ///< sockets that the ring accepted and that have no place yet
  std::vector<Channel*> due_;  ///< to be settled at the end of this turn
  std::vector<Channel*> fed_;  ///< of them: whose receives are to be started last
  bool ports_closed_ = false;  ///< they go when their accepts have ended
};

}  // namespace leantea::net::uring

// The functions of readiness/loop.hpp. Included by the one file of each backend that makes its loop.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "net/peer_inquiry.hpp"
#include "net/readiness/loop.hpp"

namespace leantea::net::readiness {

// The poller's tags: null is its own, a port has the lowest bit set, everything else is a channel.
inline constexpr std::uintptr_t kPortBit = 1;

template <Poller P>
Loop<P>::Loop(app::ServerShared& shared, Group& group)
    : EventLoop(shared, group, kPeerInquiry<&descriptor_of<Channel>>),
      receive_buffer_(std::make_unique_for_overwrite<char[]>(kReceiveBytes)) {}

template <Poller P>
void Loop<P>::run() {
  while (!is_draining() || !may_end()) turn();  // the first saves a call per turn
}

// ---- The way of a small request ----
//
// From an event to its receive and its send, as one function: after a system call the processor mispredicts
// the returns to the frames before it, as the kernel has used up its return stack, so frames between
// turn() and the kernel cost some 10 ns each. Inlined, the loop itself is some 200 instructions per
// request, and CPU per request at c=128 went from 1.04 to 1.02 times the floor's (20 rounds each).

/// Sends once. True when there is more, and the kernel may take it.
template <Poller P>
bool Loop<P>::send_once(Channel& channel) {
  app::Connection& connection = channel.connection;
  struct iovec pieces[kMaxPieces];
  const base::Pieces offered = connection.output(pieces);
  const IoResult result = send(channel.fd, {pieces, offered.count});
  if (!result.ok()) [[unlikely]] {
    channel.write_blocked = result.error == IoError::kWouldBlock;
    if (!channel.write_blocked) connection.peer_gone();
    return false;
  }
  const auto taken = static_cast<std::size_t>(result.bytes);
  connection.sent(taken);
  if (taken < offered.bytes) [[unlikely]] {
    channel.write_blocked = true;  // the kernel is full: another try would only say so
    return false;
  }
  return connection.wants_output();
}

/// One send is nearly always all there is, so the others are a loop apart.
template <Poller P>
void Loop<P>::flush(Channel& channel) {
  if (send_once(channel)) [[unlikely]]
    flush_more(channel);
}

template <Poller P>
void Loop<P>::flush_more(Channel& channel) {
  for (int i = 1; i < kSendsPerTurn; ++i) {
    if (!send_once(channel)) return;
  }
  due_.push_back(&channel);
}

/// Brings the socket in line with what the connection wants. Due after everything that happens to a
/// connection; may close the channel.
template <Poller P>
void Loop<P>::settle(Channel& channel) {
  app::Connection& connection = channel.connection;
  if (connection.wants_output() && !channel.write_blocked) flush(channel);
  if (connection.closing()) [[unlikely]] {
    if (connection.wants_write_shutdown()) {
      shut_down_sending(channel.fd);
      connection.write_shutdown_done();
    }
    if (connection.finished()) return close_channel(channel);
  }
  const Interest interest = wanted_interest(channel);
  if (interest != channel.interest) set_interest(channel, interest);
}

/// Receives once. True when more may be there, and is wanted. One receive is all there is unless it filled its
/// buffer: to ask again whether a socket is empty costs as much as a quarter of a request.
template <Poller P>
bool Loop<P>::receive_once(Channel& channel) {
  app::Connection& connection = channel.connection;
  std::span<char> space = connection.receive_space();
  const bool lent = !space.empty();
  if (!lent) space = {receive_buffer_.get(), kReceiveBytes};
  const IoResult got = receive(channel.fd, space);
  if (got.bytes > 0) [[likely]] {
    const auto count = static_cast<std::size_t>(got.bytes);
    connection.receive({space.data(), count});
    if (count < space.size() || !connection.wants_input()) [[likely]]
      return false;
    // A body that ended where its space did: what comes next has not been asked for yet.
    return !lent || !connection.receive_space().empty();
  }
  if (got.ok()) {
    channel.end_seen = true;
    connection.receive_end();
  } else if (got.error != IoError::kWouldBlock) {
    connection.peer_gone();
  }
  return false;
}

template <Poller P>
void Loop<P>::read_ready(Channel& channel) {
  if (receive_once(channel)) [[unlikely]]
    read_more(channel);
}

template <Poller P>
void Loop<P>::read_more(Channel& channel) {
  for (int i = 1; i < kReceivesPerTurn; ++i) {
    if (!receive_once(channel)) return;
  }
}

template <Poller P>
void Loop<P>::channel_ready(Channel& channel, const Event& event) {
  if (!channel.is_open()) return;  // closed earlier in this turn
  if (P::writable(event)) channel.write_blocked = false;
  if (has(channel.interest, Interest::kRead)) {
    if (P::readable(event) || P::broken(event)) read_ready(channel);
  } else if (P::broken(event)) {
    channel.connection.peer_gone();
  } else if (P::ended(event)) {
    channel.end_seen = true;
    channel.connection.end_announced();
  }
  settle(channel);
}

template <Poller P>
void Loop<P>::dispatch(const Event& event) {
  void* const tag = P::tag(event);
  const auto bits = reinterpret_cast<std::uintptr_t>(tag);
  if (tag == nullptr) {
    woken();
  } else if ((bits & kPortBit) != 0) {
    accept_ready(*reinterpret_cast<Port*>(bits & ~kPortBit));
  } else {
    channel_ready(*static_cast<Channel*>(tag), event);
  }
}

// ---- One turn ----

template <Poller P>
void Loop<P>::turn() {
  const int count = poller_.wait(due_.empty() ? wait_ms() : 0);
  engine_.set_now(clock_.read());
  for (int i = 0; i < count; ++i) dispatch(poller_.event(i));
  engine_.run_posted();
  engine_.run_due();
  settle_touched();
  keep_time();
  channels_.end_turn();
}

/// Each channel once per turn, however often it is touched meanwhile, so that one that always has more
/// to send does not keep the loop from the others.
template <Poller P>
void Loop<P>::settle_touched() {
  while (app::Connection* connection = engine_.take_touched()) {
    due_.push_back(&channel_of<Channel>(*connection));
  }
  if (!due_.empty()) settle_due();
}

template <Poller P>
void Loop<P>::settle_due() {
  taken_.swap(due_);
  for (Channel* channel : taken_) {
    if (channel->is_open()) settle(*channel);
  }
  taken_.clear();
}

// ---- Listeners ----

template <Poller P>
void Loop<P>::accept_ready(Port& port) {
  for (int i = 0; i < kAcceptsPerTurn && accept_one(port); ++i) {
  }
}

template <Poller P>
bool Loop<P>::accept_one(Port& port) {
  if (!engine_.take_place()) {
    if (engine_.refuses_above_connections()) return refuse_one(port);
    pause_for_places();
    return false;
  }
  const AcceptResult next = take_next(port);
  if (next.error != IoError::kNone) {
    engine_.give_back_place();
    return accept_failed(next.error);
  }
  welcome(next.fd);
  return true;
}

template <Poller P>
bool Loop<P>::refuse_one(Port& port) {
  const AcceptResult next = take_next(port);
  if (next.error != IoError::kNone) return accept_failed(next.error);
  refuse(next.fd);
  return true;
}

/// The first request is often there already: trying before watching saves a wait, and a connection that
/// is over after its first answer is never watched at all.
template <Poller P>
void Loop<P>::open_channel(int fd) {
  Channel& channel = channels_.open(engine_, fd);
  note_load();
  read_ready(channel);
  settle(channel);
}

template <Poller P>
void Loop<P>::watch_ports() {
  for (const auto& port : ports_) {
    if (port->watched) continue;
    const Listener& listener = port->listener;
    const auto bits = reinterpret_cast<std::uintptr_t>(port.get());
    port->watched = poller_.add_listener(listener.fd(), listener.shared(),
                                         reinterpret_cast<void*>(bits | kPortBit)) == 0;
    if (!port->watched) try_later();  // out of memory
  }
}

template <Poller P>
void Loop<P>::unwatch_ports() noexcept {
  for (const auto& port : ports_) {
    if (std::exchange(port->watched, false)) poller_.remove(port->listener.fd());
  }
}

// ---- Channels ----

template <Poller P>
Interest Loop<P>::wanted_interest(const Channel& channel) const noexcept {
  Interest interest = Interest::kNothing;
  if (channel.connection.wants_input()) {
    interest = Interest::kRead;
  } else if (!channel.end_seen) {
    interest = Interest::kEnd;
  }
  return channel.write_blocked ? interest | Interest::kWrite : interest;
}

template <Poller P>
void Loop<P>::set_interest(Channel& channel, Interest interest) {
  const int code = channel.interest == Interest::kUnwatched
                       ? poller_.add(channel.fd, interest, &channel)
                       : poller_.change(channel.fd, channel.interest, interest, &channel);
  if (code == 0) {
    channel.interest = interest;
    return;
  }
  // No memory to watch it with, and what is not watched would be forgotten.
  channel.connection.peer_gone();
  close_channel(channel);
}

template <Poller P>
void Loop<P>::close_channel(Channel& channel) {
  const int fd = channel.fd;
  const bool reset = channel.connection.reset_on_close();
  if constexpr (!P::kForgetsClosed) {
    if (channel.interest != Interest::kUnwatched) poller_.remove(fd);
  }
  channels_.close(channel);
  socket_done(fd, reset);
}

}  // namespace leantea::net::readiness

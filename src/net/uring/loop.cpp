#include "net/uring/loop.hpp"

#include <errno.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "net/peer_inquiry.hpp"

namespace leantea::net::uring {

Loop::Loop(app::ServerShared& shared, Group& group, const RingSizes& sizes)
    : EventLoop(shared, group, kPeerInquiry<&descriptor_of<Channel>>), sizes_(sizes) {}

void Loop::run() {
  while (!may_end()) turn();
  ring_.close();
}

// ---- One turn ----

void Loop::turn() {
  const unsigned count = ring_.wait(wait_ms());
  engine_.set_now(clock_.read());
  for (unsigned i = 0; i < count; ++i) dispatch(ring_.event(i));
  engine_.run_posted();
  engine_.run_due();
  settle_due();
  keep_time();
  channels_.end_turn();
}

void Loop::dispatch(const Event& event) {
  const Tag tag = Ring::tag(event);
  switch (tag.operation()) {
    case Operation::kReceive:
    case Operation::kSend:
    case Operation::kRoom:
    case Operation::kEnd:
      return operation_done(tag.object<Channel>(), tag.operation(), event);
    case Operation::kAccept:
      return accept_done(tag.object<Port>(), event);
    case Operation::kWake:
      woken();
      if (!Ring::more(event)) ring_.watch_wake();
      return;
    case Operation::kNone:
      return;
  }
}

void Loop::make_due(Channel& channel) {
  if (due_.empty() || due_.back() != &channel) due_.push_back(&channel);
}

/// What happened to a connection in this turn is over; now it is asked what it wants. Between here and the
/// next wait nothing happens to it, so what it shows as output may be handed to the kernel.
void Loop::settle_due() {
  while (app::Connection* connection = engine_.take_touched())
    make_due(channel_of<Channel>(*connection));
  for (Channel* channel : due_) {
    if (channel->is_open()) settle(*channel);
  }
  due_.clear();
  for (Channel* channel : fed_) {
    if (!channel->is_open() || channel->has_under_way(Operation::kReceive)) continue;
    start(*channel, Operation::kReceive);
  }
  fed_.clear();
}

// ---- Listeners ----

void Loop::accept_done(Port& port, const Event& event) {
  if (!Ring::more(event)) port.watched = port.cancelling = false;
  if (event.res >= 0) {
    accepted(event.res);
  } else if (event.res != -ECANCELED) {
    accept_failed(classify(-event.res));
  }
  if (port.watched) return;
  if (ports_closed_) {
    forget_unwatched_ports();
  } else if (gate_.is_open()) {
    watch(port);
  }
}

/// The ring accepts what there is, also when there is no place for it: then the client waits here rather than
/// in the listen queue.
void Loop::accepted(int fd) {
  if (waiting_.empty() && engine_.take_place()) {
    welcome(fd);
  } else if (engine_.refuses_above_connections()) {
    refuse(fd);
  } else {
    waiting_.push_back(fd);
    if (gate_.is_open()) pause_for_places();  // else more come than the accepts were ended for
  }
}

void Loop::open_channel(int fd) {
  Channel& channel = channels_.open(engine_, fd);
  note_load();
  settle(channel);
}

/// Takes a connection without the ring. True when another may be waiting.
bool Loop::accept_one(Port& port) {
  const AcceptResult next = take_next(port);
  if (next.error == IoError::kNone) accepted(next.fd);
  return next.error == IoError::kNone || next.error == IoError::kNextPlease ||
         next.error == IoError::kGone;
}

void Loop::resume_accepting() {
  while (!waiting_.empty() && engine_.take_place()) {
    welcome(waiting_.front());
    waiting_.pop_front();
  }
  if (waiting_.empty()) {
    EventLoop::resume_accepting();
  } else {
    try_later();
  }
}

void Loop::watch(Port& port) noexcept {
  if (port.watched || ports_closed_) return;
  ring_.accept(port.listener.fd(), {&port, Operation::kAccept});
  port.watched = true;
}

void Loop::watch_ports() {
  for (const auto& port : ports_) watch(*port);
}

void Loop::unwatch_ports() noexcept {
  for (const auto& port : ports_) {
    if (!port->watched || std::exchange(port->cancelling, true)) continue;
    ring_.cancel({port.get(), Operation::kAccept});
  }
}

void Loop::forget_ports() {
  ports_closed_ = true;
  forget_unwatched_ports();
}

void Loop::forget_unwatched_ports() noexcept {
  std::erase_if(ports_, [](const auto& port) { return !port->watched; });
}

// ---- Channels ----

void Loop::operation_done(Channel& channel, Operation operation, const Event& event) {
  if (!Ring::more(event)) {
    channel.under_way = static_cast<std::uint8_t>(channel.under_way & ~bit_of(operation));
  }
  if (!channel.is_open()) {
    ring_.recycle(event);
    if (channel.under_way == 0) channels_.release(channel);
    return;
  }
  if (operation == Operation::kReceive) {
    receive_done(channel, event);
  } else if (operation == Operation::kSend) {
    send_done(channel, event.res);
  } else if (operation == Operation::kRoom) {
    channel.write_blocked = false;  // also when the connection is broken: the next send says so
  } else {
    end_seen(channel, event.res);
  }
  make_due(channel);
}

void Loop::receive_done(Channel& channel, const Event& event) {
  if (event.res > 0) {
    take_bytes(channel, ring_.bytes(event));
  } else if (event.res == 0) {
    receive_end(channel);
  } else {
    receive_failed(channel, event.res);
  }
  ring_.recycle(event);
  if (!channel.has_under_way(Operation::kReceive)) channel.cancelling = false;
}

/// Bytes may come although they are not wanted, as the receive goes on until it is told to end. The first are
/// passed on, which the connection allows; more are held.
void Loop::take_bytes(Channel& channel, std::string_view bytes) {
  app::Connection& connection = channel.connection;
  const bool wanted = connection.wants_input();
  channel.fed = true;
  if (channel.held || (channel.unwanted && !wanted)) {
    if (!channel.held) channel.held = std::make_unique<HeldInput>();
    channel.held->add(bytes);
    return;
  }
  channel.unwanted = !wanted;
  connection.receive(bytes);
}

void Loop::receive_end(Channel& channel) {
  channel.end_read = true;
  channel.end_waits = true;
  deliver_held(channel);
  if (!channel.end_waits || std::exchange(channel.end_told, true)) return;
  channel.connection.end_announced();
}

void Loop::receive_failed(Channel& channel, int result) {
  // No buffer was free, or it was we who ended it: settle() starts it again when it is wanted.
  if (result == -ENOBUFS || result == -ECANCELED) return;
  channel.connection.peer_gone();
}

void Loop::deliver_held(Channel& channel) {
  app::Connection& connection = channel.connection;
  while (channel.held && connection.wants_input()) {
    const std::string_view bytes = channel.held->front(ring_.receive_bytes());
    connection.receive(bytes);
    channel.held->drop(bytes.size());
    if (channel.held->empty()) channel.held.reset();
  }
  if (!channel.end_waits || channel.held || !connection.wants_input()) return;
  channel.end_waits = false;
  channel.end_told = true;
  connection.receive_end();
}

void Loop::send_done(Channel& channel, int result) {
  const std::uint32_t offered = std::exchange(channel.offered, 0);
  app::Connection& connection = channel.connection;
  if (connection.finished()) return;  // broken meanwhile: it has no output any more
  if (result >= 0) {
    const auto taken = static_cast<std::uint32_t>(result);
    channel.write_blocked = taken < offered;  // another try would only say so
    connection.sent(taken);
    return;
  }
  if (result == -EINTR) return;
  channel.write_blocked = classify(-result) == IoError::kWouldBlock;
  if (!channel.write_blocked) connection.peer_gone();
}

/// The peer has ended a connection that is not being read, or both ends of it are gone.
void Loop::end_seen(Channel& channel, int result) {
  if (channel.has_under_way(Operation::kReceive)) return;  // it tells more exactly
  if (result < 0 || (result & (POLLERR | POLLHUP)) != 0) {
    channel.connection.peer_gone();
  } else if (!std::exchange(channel.end_told, true)) {
    channel.connection.end_announced();
  }
}

/// Brings the ring in line with what the connection wants. Due after everything that happens to a
/// connection; may close the channel.
void Loop::settle(Channel& channel) {
  app::Connection& connection = channel.connection;
  if (channel.held || channel.end_waits) deliver_held(channel);
  if (connection.wants_output() && !channel.write_blocked &&
      !channel.has_under_way(Operation::kSend)) {
    flush(channel);
  }
  if (connection.wants_write_shutdown()) {
    shut_down_sending(channel.fd);
    connection.write_shutdown_done();
  }
  if (connection.finished()) {
    close_channel(channel);
  } else {
    set_operations(channel);
  }
}

void Loop::flush(Channel& channel) {
  struct iovec pieces[kMaxPieces];
  const std::size_t count = channel.connection.output(pieces).count;
  std::size_t offered = 0;
  std::size_t used = 0;
  while (used < count && offered < kSendBytes) {
    struct iovec& piece = pieces[used++];
    piece.iov_len = std::min(piece.iov_len, kSendBytes - offered);
    offered += piece.iov_len;
  }
  channel.offered = static_cast<std::uint32_t>(offered);
  channel.under_way |= bit_of(Operation::kSend);
  const bool last = offered <= kLastBytes && channel.connection.quiet() &&
                    offered == channel.connection.output_size();
  ring_.send(channel.fd, {pieces, used}, channel.tag(Operation::kSend), last);
}

/// A receive goes on by itself and is left alone as long as nothing unwanted comes: most pauses are shorter
/// than the time to the next bytes.
void Loop::set_operations(Channel& channel) {
  const bool receiving = channel.has_under_way(Operation::kReceive);
  if (channel.connection.wants_input()) {
    channel.unwanted = false;
    if (!receiving && !channel.end_read) start_receive(channel);
  } else if (!receiving) {
    if (!channel.has_under_way(Operation::kEnd)) start(channel, Operation::kEnd);
  } else if (channel.unwanted && !std::exchange(channel.cancelling, true)) {
    ring_.cancel(channel.tag(Operation::kReceive));
  }
  if (channel.write_blocked && !channel.has_under_way(Operation::kRoom)) {
    start(channel, Operation::kRoom);
  }
}

/// Receives start in the order of this turn's operations, and the first ones may take all buffers. So those that
/// brought something last time are started behind those that found no buffer.
void Loop::start_receive(Channel& channel) {
  if (channel.fed) {
    fed_.push_back(&channel);
  } else {
    start(channel, Operation::kReceive);
  }
}

void Loop::start(Channel& channel, Operation operation) noexcept {
  channel.under_way |= bit_of(operation);
  const Tag tag = channel.tag(operation);
  if (operation == Operation::kReceive) {
    channel.fed = false;
    ring_.receive(channel.fd, tag);
  } else if (operation == Operation::kRoom) {
    ring_.watch_room(channel.fd, tag);
  } else if (!channel.end_told) {
    ring_.watch_end(channel.fd, tag);
  } else {
    ring_.watch_break(channel.fd, tag);  // a client that only stopped sending may still reset
  }
}

void Loop::cancel_operations(Channel& channel) noexcept {
  for (const Operation operation : {Operation::kReceive, Operation::kRoom, Operation::kEnd}) {
    if (!channel.has_under_way(operation)) continue;
    if (operation == Operation::kReceive && channel.cancelling) continue;
    ring_.cancel(channel.tag(operation));
  }
}

/// The kernel closes the socket when its last operation has ended, which is in the next wait().
void Loop::close_channel(Channel& channel) {
  const int fd = channel.fd;
  const bool reset = channel.connection.reset_on_close();
  cancel_operations(channel);
  channels_.close(channel);
  socket_done(fd, reset);
}

// ---- The end ----

/// Those who still wait for a place do so until the deadline.
bool Loop::may_end() noexcept {
  if (!is_draining()) return false;
  if (draining_until_ <= engine_.now().mono) {
    for (const int fd : waiting_) close_socket(fd, /*reset=*/false);
    waiting_.clear();
  }
  return waiting_.empty() && channels_.in_use() == 0 && EventLoop::may_end();
}

}  // namespace leantea::net::uring

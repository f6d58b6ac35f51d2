#include "net/uring/loop.hpp"

#include <errno.h>
#include <poll.h>

#include <algorithm>
#include <utility>

#include "app/application.hpp"
#include "base/assert.hpp"
#include "net/peer_inquiry.hpp"
#include "net/thread_name.hpp"

namespace leantea::net::uring {

/// A socket on its way to another loop. Delivers itself, and is gone then.
struct Loop::Gift final : base::MailItem {
  Gift(Loop& to, int socket) noexcept : loop(to), fd(socket) {}

  void deliver() override {
    loop.gifts_.fetch_sub(1, std::memory_order_relaxed);
    loop.open_channel(fd);
    delete this;
  }

  Loop& loop;
  const int fd;
};

Loop::Loop(app::ServerShared& shared, LoopGroup& group, unsigned index, const RingSizes& sizes)
    : shared_(shared),
      group_(group),
      index_(index),
      sizes_(sizes),
      engine_(shared, *this, clock_.read()) {
  engine_.set_peer_inquiry(kPeerInquiry<&Loop::descriptor_of>);
}

Loop::~Loop() = default;

Loop::Opened Loop::open(std::vector<Listener> listeners) {
  for (Listener& listener : listeners) {
    ports_.push_back(std::make_unique<Port>(std::move(listener)));
  }
  return ring_.open_waker();
}

void Loop::run(std::promise<Opened> opened) {
  name_this_thread("leantea/" + std::to_string(index_));
  Opened outcome = ring_.open(sizes_);
  const bool works = outcome.has_value();
  if (works) gifts_.store(0);
  opened.set_value(std::move(outcome));
  if (!works) return;
  watch_ports();
  while (!may_end()) turn();
  ring_.close();
}

void Loop::wake() noexcept {
  if (!woken_.exchange(true)) ring_.wake();
}

void Loop::drain(base::Millis deadline) noexcept {
  base::Millis before = drain_until_.load();
  while (deadline < before && !drain_until_.compare_exchange_weak(before, deadline)) {
  }
  wake();
}

bool Loop::give(int fd) {
  // Counted before it is sent: a loop does not end while something is on its way to it.
  std::uint32_t gifts = gifts_.load();
  do {
    if (gifts == kClosed) return false;
  } while (!gifts_.compare_exchange_weak(gifts, gifts + 1));
  engine_.post(*new Gift(*this, fd));
  return true;
}

std::uint32_t Loop::load() const noexcept {
  const std::uint32_t gifts = gifts_.load(std::memory_order_relaxed);
  return load_.load(std::memory_order_relaxed) + (gifts == kClosed ? 0 : gifts);
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

int Loop::wait_ms() const noexcept {
  const int wait = engine_.wait_ms();
  const base::Millis due = std::min({gate_.opens_at(), refused_.due(), ports_close_at_});
  if (due == AcceptGate::kNever) return wait;
  const auto own = static_cast<int>(std::max<base::Millis>(due - engine_.now().mono, 0));
  return wait < 0 ? own : std::min(wait, own);
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
      // Cleared before the mail is taken: who posts after that wakes us again.
      woken_.store(false);
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
  while (app::Connection* connection = engine_.take_touched()) make_due(channel_of(*connection));
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

void Loop::keep_time() {
  const base::Millis now = engine_.now().mono;
  if (gate_.may_open(now)) resume_accepting();
  if (refused_.due() <= now) refused_.expire(now);
  if (ports_close_at_ <= now) close_ports();
  if (ports_closed_ && !ports_.empty()) end_ports();
  if (const base::Millis until = drain_until_.load(std::memory_order_acquire);
      until != draining_until_) {
    begin_drain(until);
  }
}

// ---- Listeners ----

void Loop::accept_done(Port& port, const Event& event) {
  if (!Ring::more(event)) port.watched = port.cancelling = false;
  if (event.res >= 0) {
    accepted(event.res);
  } else if (event.res != -ECANCELED) {
    accept_failed(classify(-event.res));
  }
  if (!port.watched && gate_.is_open()) watch(port);
}

/// The ring accepts what there is, also when there is no place for it: then the client waits here rather than
/// in the listen queue.
void Loop::accepted(int fd) {
  if (waiting_.empty() && engine_.take_place()) {
    welcome(fd);
  } else if (engine_.refuses_above_connections()) {
    refused_.refuse(fd, engine_.refusal(), engine_.now().mono);
  } else {
    waiting_.push_back(fd);
    pause_accepting("as many connections as Limits::connections allows");
  }
}

/// A place has been taken for the socket.
void Loop::welcome(int fd) {
  Loop& home = home_for_next();
  if (&home == this || !home.give(fd)) open_channel(fd);
}

void Loop::open_channel(int fd) {
  Channel& channel = channels_.open(engine_, fd);
  load_.store(engine_.connection_count(), std::memory_order_relaxed);
  settle(channel);
}

/// Takes a connection without the ring. True when another may be waiting.
bool Loop::accept_one(Port& port) {
  const Listener& listener = port.listener;
  const AcceptResult next = accept_next(listener.fd(), listener.tcp_nodelay(), Blocking::kNo);
  if (next.error == IoError::kNone) accepted(next.fd);
  return next.error == IoError::kNone || next.error == IoError::kNextPlease ||
         next.error == IoError::kGone;
}

void Loop::accept_failed(IoError error) {
  switch (error) {
    case IoError::kWouldBlock:
    case IoError::kNextPlease:
    case IoError::kGone:
      return;  // accept(2) passes on network errors of the new connection
    case IoError::kNone:
    case IoError::kNoResources:
    case IoError::kBroken:
      break;
  }
  pause_accepting("no file descriptors or memory left (ulimit -n)");
}

/// This loop, or a neighbour that has clearly less to do.
Loop& Loop::home_for_next() noexcept {
  const auto loops = static_cast<unsigned>(group_.loops.size());
  const std::uint32_t own = load();
  Loop* home = this;
  std::uint32_t least = own;
  for (unsigned i = 0; i < std::min(kNeighbours, loops - 1); ++i) {
    Loop& neighbour = *group_.loops[next_neighbour_++ % loops];
    const std::uint32_t load = neighbour.load();
    if (load + load / 16 + kGiveAbove < own && load < least) {
      home = &neighbour;
      least = load;
    }
  }
  return *home;
}

void Loop::pause_accepting(std::string_view why) {
  const base::Millis now = engine_.now().mono;
  gate_.shut(now);
  unwatch_ports();
  if (!group_.shortage_line.due(now)) return;
  shared_.application.log("accepting is paused, new connections wait: " + std::string(why));
}

void Loop::resume_accepting() {
  while (!waiting_.empty() && engine_.take_place()) {
    welcome(waiting_.front());
    waiting_.pop_front();
  }
  if (waiting_.empty() && (engine_.has_place() || engine_.refuses_above_connections())) {
    watch_ports();
  } else {
    gate_.shut(engine_.now().mono);
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
  close_socket(fd, reset);
  load_.store(engine_.connection_count(), std::memory_order_relaxed);
  gate_.room_made();
}

// ---- The end ----

void Loop::begin_drain(base::Millis deadline) {
  const bool first = draining_until_ == AcceptGate::kNever;
  draining_until_ = deadline;
  engine_.begin_drain(deadline);
  if (!first) return;
  for (const auto& port : ports_) port->listener.stop_handshakes();
  ports_close_at_ = engine_.now().mono + Listener::kHandshakeGraceMs;
}

/// The second step of closing listeners, after stop_handshakes() and its grace: takes who is left. The ring
/// may have had no turn for them yet.
void Loop::close_ports() {
  ports_close_at_ = AcceptGate::kNever;
  for (const auto& port : ports_) {
    while (accept_one(*port)) {
    }
  }
  unwatch_ports();
  ports_closed_ = true;
}

/// The last step, when the accepts have ended. Those who still wait for a place do so until the deadline.
void Loop::end_ports() {
  std::erase_if(ports_, [](const auto& port) { return !port->watched; });
}

bool Loop::may_end() noexcept {
  if (draining_until_ == AcceptGate::kNever) return false;
  if (draining_until_ <= engine_.now().mono) {
    for (const int fd : waiting_) close_socket(fd, /*reset=*/false);
    waiting_.clear();
  }
  if (!ports_.empty() || !waiting_.empty() || channels_.in_use() != 0 || !engine_.finished()) {
    return false;
  }
  std::uint32_t none = 0;
  return gifts_.compare_exchange_strong(none, kClosed);
}

int Loop::descriptor_of(const app::Connection& connection) { return channel_of(connection).fd; }

}  // namespace leantea::net::uring

#include "net/libuv/loop.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "app/application.hpp"
#include "base/assert.hpp"
#include "net/peer_inquiry.hpp"
#include "net/thread_name.hpp"

namespace leantea::net::libuv {
namespace {

std::unexpected<std::string> problem(std::string_view what, int code) {
  return std::unexpected("cannot make " + std::string(what) + ": " + uv_strerror(code));
}

Loop& loop_of(const uv_loop_t* loop) noexcept { return *static_cast<Loop*>(loop->data); }

template <class Handle>
uv_handle_t* as_handle(Handle& handle) noexcept {
  return reinterpret_cast<uv_handle_t*>(&handle);  // libuv's own way
}

int events_of(Interest interest) noexcept {
  const int events = (has(interest, Interest::kRead) ? UV_READABLE : 0) |
                     (has(interest, Interest::kWrite) ? UV_WRITABLE : 0) |
                     (has(interest, Interest::kEnd) ? UV_DISCONNECT : 0);
  return events != 0 ? events : UV_PRIORITIZED;
}

/// libuv aborts where a loop's epoll instance is the last descriptor there is, or the last but one: with its first
/// loop it makes a pipe for signals, which it cannot do without.
bool can_open_what_libuv_must() noexcept {
  std::array<int, 3> opened{};
  bool all = true;
  for (int& fd : opened) {
    fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    all = all && fd >= 0;
  }
  for (const int fd : opened)
    if (fd >= 0) ::close(fd);
  return all;
}

}  // namespace

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

Loop::Loop(app::ServerShared& shared, LoopGroup& group, unsigned index)
    : shared_(shared),
      group_(group),
      index_(index),
      engine_(shared, *this, clock_.read()),
      receive_buffer_(std::make_unique_for_overwrite<char[]>(kReceiveBytes)) {
  engine_.set_peer_inquiry(kPeerInquiry<&Loop::descriptor_of>);
}

Loop::~Loop() {
  if (!opened_) return;
  forget_ports();
  uv_close(as_handle(timer_), nullptr);
  uv_close(as_handle(wake_), nullptr);
  uv_run(&loop_, UV_RUN_DEFAULT);  // until all close callbacks have been called
  const int code = uv_loop_close(&loop_);
  LEANTEA_ASSERT(code == 0);
}

std::expected<void, std::string> Loop::open(std::vector<Listener> listeners) {
  if (!can_open_what_libuv_must()) return problem("a libuv loop", UV_EMFILE);
  if (const int code = uv_loop_init(&loop_); code != 0) return problem("a libuv loop", code);
  loop_.data = this;
  uv_timer_init(&loop_, &timer_);  // cannot fail
  if (const int code = uv_async_init(&loop_, &wake_, &Loop::on_wake); code != 0) {
    uv_close(as_handle(timer_), nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    uv_loop_close(&loop_);
    return problem("a libuv wake-up", code);
  }
  opened_ = true;
  for (Listener& listener : listeners) {
    auto port = std::make_unique<Port>(std::move(listener));
    if (const int code = uv_poll_init(&loop_, &port->poll, port->listener.fd()); code != 0) {
      return problem("a libuv handle for " + port->listener.address(), code);
    }
    port->poll.data = port.get();
    ports_.push_back(std::move(port));
  }
  watch_ports();
  return {};
}

void Loop::run() {
  name_this_thread("leantea/" + std::to_string(index_));
  while (!may_end()) turn();
}

void Loop::wake() noexcept { uv_async_send(&wake_); }

void Loop::drain(base::Millis deadline) noexcept {
  if (!opened_) return;
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

// ---- libuv calls ----

/// It is enough that uv_run() returns.
void Loop::on_wake(uv_async_t* /*handle*/) {}

/// uv_run() looks at its timers before it waits, too, and when the machine is busy this one is over by then.
/// Left to itself libuv would now wait for ever.
void Loop::on_time(uv_timer_t* handle) {
  loop_of(handle->loop).timer_due_ = AcceptGate::kNever;
  uv_stop(handle->loop);
}

/// Also for errors: accept() says which.
void Loop::on_port(uv_poll_t* handle, int status, int /*events*/) {
  Loop& loop = loop_of(handle->loop);
  Port& port = *static_cast<Port*>(handle->data);
  if (status < 0) port.watched = false;  // libuv stops a handle that has an error
  loop.event_comes();
  loop.accept_ready(port);
  if (!port.watched && loop.gate_.is_open()) loop.watch_ports();
}

void Loop::on_channel(uv_poll_t* handle, int status, int events) {
  Loop& loop = loop_of(handle->loop);
  loop.event_comes();
  loop.channel_ready(*static_cast<Channel*>(handle->data), status, events);
}

void Loop::on_channel_closed(uv_handle_t* handle) {
  loop_of(handle->loop).channels_.give_back(*static_cast<Channel*>(handle->data));
}

void Loop::on_port_closed(uv_handle_t* handle) { delete static_cast<Port*>(handle->data); }

// ---- One turn ----

void Loop::turn() {
  const int wait = wait_ms();
  set_timer(wait);
  events_ = 0;
  uv_run(&loop_, wait == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE);
  if (events_ == 0) engine_.set_now(clock_.read());
  engine_.run_posted();
  engine_.run_due();
  settle_touched();
  keep_time();
}

int Loop::wait_ms() const noexcept {
  if (!due_.empty()) return 0;
  const int wait = engine_.wait_ms();
  const base::Millis due = std::min({gate_.opens_at(), refused_.due(), ports_close_at_});
  if (due == AcceptGate::kNever) return wait;
  const auto own = static_cast<int>(std::max<base::Millis>(due - engine_.now().mono, 0));
  return wait < 0 ? own : std::min(wait, own);
}

/// Lets the next wait end in time. A timer that is set to an earlier time is left: what it ends is only one
/// wait too many, and a request moves no timer.
void Loop::set_timer(int wait_ms) noexcept {
  if (wait_ms <= 0) return;
  const base::Millis due = engine_.now().mono + wait_ms;
  if (due >= timer_due_) return;
  timer_due_ = due;
  uv_timer_start(&timer_, &Loop::on_time, static_cast<std::uint64_t>(wait_ms), 0);
}

/// The first thing in the callback of an event: tells the engine the time, once per turn, and again where a
/// turn is long.
void Loop::event_comes() noexcept {
  if (events_++ % kEventsPerTime == 0) engine_.set_now(clock_.read());
}

/// Each channel once per turn, however often it is touched meanwhile, so that one that always has more
/// to send does not keep the loop from the others.
void Loop::settle_touched() {
  while (app::Connection* connection = engine_.take_touched()) {
    due_.push_back(&channel_of(*connection));
  }
  if (due_.empty()) return;
  taken_.swap(due_);
  for (Channel* channel : taken_) {
    if (channel->is_open()) settle(*channel);
  }
  taken_.clear();
}

void Loop::keep_time() {
  const base::Millis now = engine_.now().mono;
  if (gate_.may_open(now)) resume_accepting();
  if (refused_.due() <= now) refused_.expire(now);
  if (ports_close_at_ <= now) close_ports();
  if (const base::Millis until = drain_until_.load(std::memory_order_acquire);
      until != draining_until_) {
    begin_drain(until);
  }
}

// ---- The way of a small request ----

void Loop::flush(Channel& channel) {
  app::Connection& connection = channel.connection;
  for (int i = 0; i < kSendsPerTurn; ++i) {
    struct iovec pieces[kMaxPieces];
    const base::Pieces offered = connection.output(pieces);
    const IoResult result = send(channel.fd, {pieces, offered.count});
    if (!result.ok()) {
      channel.write_blocked = result.error == IoError::kWouldBlock;
      if (!channel.write_blocked) connection.peer_gone();
      return;
    }
    const auto taken = static_cast<std::size_t>(result.bytes);
    connection.sent(taken);
    if (taken < offered.bytes) {
      channel.write_blocked = true;  // the kernel is full: another try would only say so
      return;
    }
    if (!connection.wants_output()) return;
  }
  due_.push_back(&channel);
}

/// Brings the socket in line with what the connection wants. Due after everything that happens to a
/// connection; may close the channel.
void Loop::settle(Channel& channel) {
  app::Connection& connection = channel.connection;
  if (connection.wants_output() && !channel.write_blocked) flush(channel);
  if (connection.wants_write_shutdown()) {
    shut_down_sending(channel.fd);
    connection.write_shutdown_done();
  }
  if (connection.finished()) {
    close_channel(channel);
    return;
  }
  const Interest interest = wanted_interest(channel);
  if (interest != channel.interest) set_interest(channel, interest);
}

/// Receives, at most kReceivesPerTurn times. One receive is all there is unless it filled its buffer: to
/// ask again whether a socket is empty costs as much as a quarter of a request.
void Loop::read_ready(Channel& channel) {
  app::Connection& connection = channel.connection;
  for (int i = 0; i < kReceivesPerTurn; ++i) {
    std::span<char> space = connection.receive_space();
    const bool lent = !space.empty();
    if (!lent) space = {receive_buffer_.get(), kReceiveBytes};
    const IoResult got = receive(channel.fd, space);
    if (got.bytes > 0) {
      const auto count = static_cast<std::size_t>(got.bytes);
      connection.receive({space.data(), count});
      if (count < space.size() || !connection.wants_input()) return;
      // A body that ended where its space did: what comes next has not been asked for yet.
      if (lent && connection.receive_space().empty()) return;
    } else if (got.ok()) {
      channel.end_seen = true;
      connection.receive_end();
      return;
    } else {
      if (got.error != IoError::kWouldBlock) connection.peer_gone();
      return;
    }
  }
}

void Loop::channel_ready(Channel& channel, int status, int events) {
  const bool broken = status < 0 || (events & UV_PRIORITIZED) != 0;
  const Interest watched = channel.interest;
  if (status < 0)
    channel.interest = Interest::kUnwatched;  // libuv stops a handle that has an error
  if ((events & UV_WRITABLE) != 0) channel.write_blocked = false;
  if (has(watched, Interest::kRead)) {
    if ((events & UV_READABLE) != 0 || broken) read_ready(channel);
  } else if (broken) {
    channel.connection.peer_gone();
  } else if ((events & UV_DISCONNECT) != 0) {
    channel.end_seen = true;
    channel.connection.end_announced();
  }
  settle(channel);
}

// ---- Listeners ----

void Loop::accept_ready(Port& port) {
  for (int i = 0; i < kAcceptsPerTurn && accept_one(port); ++i) {
  }
}

/// True when another connection may be waiting.
bool Loop::accept_one(Port& port) {
  if (!engine_.take_place()) {
    if (engine_.refuses_above_connections()) return refuse_one(port);
    pause_accepting("as many connections as Limits::connections allows");
    return false;
  }
  const Listener& listener = port.listener;
  const AcceptResult next = accept_next(listener.fd(), listener.tcp_nodelay(), Blocking::kNo);
  if (next.error != IoError::kNone) {
    engine_.give_back_place();
    return accept_failed(next.error);
  }
  Loop& home = home_for_next();
  if (&home == this || !home.give(next.fd)) open_channel(next.fd);
  return true;
}

/// The first request is often there already: trying before watching saves a wait, and a connection that
/// is over after its first answer is never watched at all: libuv does not hear of it.
void Loop::open_channel(int fd) {
  Channel& channel = channels_.open(engine_, fd);
  load_.store(engine_.connection_count(), std::memory_order_relaxed);
  read_ready(channel);
  settle(channel);
}

bool Loop::accept_failed(IoError error) {
  switch (error) {
    case IoError::kWouldBlock:
      return false;
    case IoError::kNextPlease:
    case IoError::kGone:
      return true;  // accept(2) passes on network errors of the new connection
    case IoError::kNone:
    case IoError::kNoResources:
    case IoError::kBroken:
      break;
  }
  pause_accepting("no file descriptors or memory left (ulimit -n)");
  return false;
}

bool Loop::refuse_one(Port& port) {
  const Listener& listener = port.listener;
  const AcceptResult next = accept_next(listener.fd(), listener.tcp_nodelay(), Blocking::kNo);
  if (next.error != IoError::kNone) return accept_failed(next.error);
  refused_.refuse(next.fd, engine_.refusal(), engine_.now().mono);
  return true;
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
  if (engine_.has_place() || engine_.refuses_above_connections()) {
    watch_ports();
  } else {
    gate_.shut(engine_.now().mono);
  }
}

/// Where loops share a listener all of them are woken: libuv has no EPOLLEXCLUSIVE.
void Loop::watch_ports() {
  for (const auto& port : ports_) {
    if (!std::exchange(port->watched, true)) {
      uv_poll_start(&port->poll, UV_READABLE, &Loop::on_port);
    }
  }
}

void Loop::unwatch_ports() noexcept {
  for (const auto& port : ports_) {
    if (std::exchange(port->watched, false)) uv_poll_stop(&port->poll);
  }
}

// ---- Channels ----

Interest Loop::wanted_interest(const Channel& channel) const noexcept {
  Interest interest = Interest::kNothing;
  if (channel.connection.wants_input()) {
    interest = Interest::kRead;
  } else if (!channel.end_seen) {
    interest = Interest::kEnd;
  }
  return channel.write_blocked ? interest | Interest::kWrite : interest;
}

void Loop::set_interest(Channel& channel, Interest interest) {
  const int code = watch(channel, interest);
  channel.interest = interest;
  if (code == 0) return;
  // No memory to watch it with, and what is not watched would be forgotten.
  channel.connection.peer_gone();
  close_channel(channel);
}

/// Zero, or libuv's error.
int Loop::watch(Channel& channel, Interest interest) noexcept {
  if (!channel.has_poll) {
    if (const int code = uv_poll_init(&loop_, &channel.poll, channel.fd); code != 0) return code;
    channel.poll.data = &channel;
    channel.has_poll = true;
  }
  return uv_poll_start(&channel.poll, events_of(interest), &Loop::on_channel);
}

void Loop::close_channel(Channel& channel) {
  const int fd = channel.fd;
  const bool reset = channel.connection.reset_on_close();
  channels_.close(channel);
  if (channel.has_poll) {
    uv_close(as_handle(channel.poll), &Loop::on_channel_closed);
  } else {
    channels_.give_back(channel);
  }
  close_socket(fd, reset);  // not before libuv has stopped watching it
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

/// The second step of closing listeners, after stop_handshakes() and its grace: takes who is left.
void Loop::close_ports() {
  ports_close_at_ = AcceptGate::kNever;
  for (const auto& port : ports_) {
    while (accept_one(*port)) {
    }
  }
  forget_ports();
}

void Loop::forget_ports() {
  for (auto& port : ports_) {
    uv_close(as_handle(port->poll), &Loop::on_port_closed);
    port->listener.close();
    static_cast<void>(port.release());  // on_port_closed() deletes it
  }
  ports_.clear();
}

bool Loop::may_end() noexcept {
  if (draining_until_ == AcceptGate::kNever) return false;
  if (!ports_.empty() || !engine_.finished()) return false;
  std::uint32_t none = 0;
  return gifts_.compare_exchange_strong(none, kClosed);
}

int Loop::descriptor_of(const app::Connection& connection) { return channel_of(connection).fd; }

}  // namespace leantea::net::libuv

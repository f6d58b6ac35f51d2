#include "net/reactor/loop.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "app/application.hpp"
#include "base/assert.hpp"
#include "net/peer_inquiry.hpp"
#include "net/thread_name.hpp"

namespace leantea::net {
namespace {

// The poller's tags: null is its own, a port has the lowest bit set, everything else is a channel.
constexpr std::uintptr_t kPortBit = 1;

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

Loop::~Loop() = default;

std::expected<void, std::string> Loop::open(std::vector<Listener> listeners) {
  if (auto opened = poller_.open(); !opened) return opened;
  for (Listener& listener : listeners) {
    ports_.push_back(std::make_unique<Port>(std::move(listener)));
  }
  watch_ports();
  const bool all_watched =
      std::ranges::all_of(ports_, [](const auto& port) { return port->watched; });
  if (!all_watched) return std::unexpected("cannot watch the listening sockets: out of memory");
  return {};
}

void Loop::wake() noexcept {
  if (!woken_.exchange(true)) poller_.wake();
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

// ---- The way of a small request ----
//
// From an event to its receive and its send, as one function: after a system call the processor mispredicts
// the returns to the frames before it, as the kernel has used up its return stack, so frames between
// turn() and the kernel cost some 10 ns each. Inlined, the loop itself is some 200 instructions per
// request, and CPU per request at c=128 went from 1.04 to 1.02 times the floor's (20 rounds each).

/// Sends once. True when there is more, and the kernel may take it.
bool Loop::send_once(Channel& channel) {
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
void Loop::flush(Channel& channel) {
  if (send_once(channel)) [[unlikely]]
    flush_more(channel);
}

void Loop::flush_more(Channel& channel) {
  for (int i = 1; i < kSendsPerTurn; ++i) {
    if (!send_once(channel)) return;
  }
  due_.push_back(&channel);
}

/// Brings the socket in line with what the connection wants. Due after everything that happens to a
/// connection; may close the channel.
void Loop::settle(Channel& channel) {
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
bool Loop::receive_once(Channel& channel) {
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

void Loop::read_ready(Channel& channel) {
  if (receive_once(channel)) [[unlikely]]
    read_more(channel);
}

void Loop::read_more(Channel& channel) {
  for (int i = 1; i < kReceivesPerTurn; ++i) {
    if (!receive_once(channel)) return;
  }
}

void Loop::channel_ready(Channel& channel, const Event& event) {
  if (!channel.is_open()) return;  // closed earlier in this turn
  if (Poller::writable(event)) channel.write_blocked = false;
  if (has(channel.interest, Interest::kRead)) {
    if (Poller::readable(event) || Poller::broken(event)) read_ready(channel);
  } else if (Poller::broken(event)) {
    channel.connection.peer_gone();
  } else if (Poller::ended(event)) {
    channel.end_seen = true;
    channel.connection.end_announced();
  }
  settle(channel);
}

void Loop::dispatch(const Event& event) {
  void* const tag = Poller::tag(event);
  const auto bits = reinterpret_cast<std::uintptr_t>(tag);
  if (tag == nullptr) {
    // Cleared before the mail is taken: who posts after that wakes us again.
    woken_.store(false);
    if (const base::Millis until = drain_until_.load(); until != draining_until_)
      begin_drain(until);
  } else if ((bits & kPortBit) != 0) {
    accept_ready(*reinterpret_cast<Port*>(bits & ~kPortBit));
  } else {
    channel_ready(*static_cast<Channel*>(tag), event);
  }
}

// ---- One turn ----

void Loop::turn() {
  const int count = poller_.wait(wait_ms());
  engine_.set_now(clock_.read());
  for (int i = 0; i < count; ++i) dispatch(poller_.event(i));
  engine_.run_posted();
  engine_.run_due();
  settle_touched();
  if (own_due_ <= engine_.now().mono) [[unlikely]]
    keep_time();
  channels_.end_turn();
}

int Loop::wait_ms() const noexcept {
  if (!due_.empty()) return 0;
  const int wait = engine_.wait_ms();
  if (own_due_ == AcceptGate::kNever) [[likely]]
    return wait;
  const auto own = static_cast<int>(std::max<base::Millis>(own_due_ - engine_.now().mono, 0));
  return wait < 0 ? own : std::min(wait, own);
}

/// Each channel once per turn, however often it is touched meanwhile, so that one that always has more
/// to send does not keep the loop from the others.
void Loop::settle_touched() {
  while (app::Connection* connection = engine_.take_touched()) {
    due_.push_back(&channel_of(*connection));
  }
  if (!due_.empty()) settle_due();
}

void Loop::settle_due() {
  taken_.swap(due_);
  for (Channel* channel : taken_) {
    if (channel->is_open()) settle(*channel);
  }
  taken_.clear();
}

/// What is due of the loop's own: of its gate, its ports, and those it turned away.
void Loop::keep_time() {
  const base::Millis now = engine_.now().mono;
  if (gate_.may_open(now)) resume_accepting();
  if (refused_.due() <= now) refused_.expire(now);
  if (ports_close_at_ <= now) close_ports();
  own_due_ = std::min({gate_.opens_at(), refused_.due(), ports_close_at_});
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
/// is over after its first answer is never watched at all.
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
  own_due_ = 0;
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
  own_due_ = 0;
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

void Loop::watch_ports() {
  for (const auto& port : ports_) {
    if (port->watched) continue;
    const Listener& listener = port->listener;
    const auto bits = reinterpret_cast<std::uintptr_t>(port.get());
    const int code = poller_.add_listener(listener.fd(), listener.shared(),
                                          reinterpret_cast<void*>(bits | kPortBit));
    port->watched = code == 0;
    if (code == 0) continue;
    gate_.shut(engine_.now().mono);  // out of memory: again in a moment
    own_due_ = 0;
  }
}

void Loop::unwatch_ports() noexcept {
  for (const auto& port : ports_) {
    if (std::exchange(port->watched, false)) poller_.remove(port->listener.fd());
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
  const int code = channel.interest == Interest::kUnwatched
                       ? poller_.add(channel.fd, interest, &channel)
                       : poller_.change(channel.fd, channel.interest, interest, &channel);
  channel.interest = interest;
  if (code == 0) return;
  // No memory to watch it with, and what is not watched would be forgotten.
  channel.connection.peer_gone();
  close_channel(channel);
}

void Loop::close_channel(Channel& channel) {
  const int fd = channel.fd;
  const bool reset = channel.connection.reset_on_close();
  channels_.close(channel);
  close_socket(fd, reset);
  load_.store(engine_.connection_count(), std::memory_order_relaxed);
  if (gate_.is_open()) return;
  gate_.room_made();
  own_due_ = 0;
}

// ---- The end ----

void Loop::begin_drain(base::Millis deadline) {
  const bool first = draining_until_ == AcceptGate::kNever;
  draining_until_ = deadline;
  engine_.begin_drain(deadline);
  if (!first) return;
  for (const auto& port : ports_) port->listener.stop_handshakes();
  ports_close_at_ = engine_.now().mono + Listener::kHandshakeGraceMs;
  own_due_ = 0;
}

/// The second step of closing listeners, after stop_handshakes() and its grace: takes who is left.
void Loop::close_ports() {
  ports_close_at_ = AcceptGate::kNever;
  for (const auto& port : ports_) {
    while (accept_one(*port)) {
    }
  }
  unwatch_ports();
  ports_.clear();
}

void Loop::run() {
  name_this_thread("leantea/" + std::to_string(index_));
  while (draining_until_ == AcceptGate::kNever || !may_end()) turn();
}

/// REQUIRES: draining.
bool Loop::may_end() noexcept {
  if (!ports_.empty() || !engine_.finished()) return false;
  std::uint32_t none = 0;
  return gifts_.compare_exchange_strong(none, kClosed);
}

int Loop::descriptor_of(const app::Connection& connection) { return channel_of(connection).fd; }

}  // namespace leantea::net

#include "net/loop/event_loop.hpp"

#include "app/application.hpp"

namespace leantea::net {

/// A socket on its way to another loop. Delivers itself, and is gone then.
struct EventLoop::Gift final : base::MailItem {
  Gift(EventLoop& to, int socket) noexcept : loop(to), fd(socket) {}

  void deliver() override {
    loop.gifts_.fetch_sub(1, std::memory_order_relaxed);
    loop.open_channel(fd);
    delete this;
  }

  EventLoop& loop;
  const int fd;
};

EventLoop::EventLoop(app::ServerShared& shared, Group& group, app::PeerInquiry inquiry)
    : engine_(shared, *this, clock_.read()), shared_(shared), group_(group) {
  engine_.set_peer_inquiry(inquiry);
}

EventLoop::Outcome EventLoop::open(std::vector<Listener> listeners) {
  for (Listener& listener : listeners) {
    ports_.push_back(std::make_unique<Port>(std::move(listener)));
  }
  return open_waker();
}

EventLoop::Outcome EventLoop::begin() {
  if (auto opened = open_wait(); !opened) return opened;
  watch_ports();
  const bool all_watched =
      std::ranges::all_of(ports_, [](const auto& port) { return port->watched; });
  if (!all_watched) return std::unexpected("cannot watch the listening sockets: out of memory");
  gifts_.store(0);
  return {};
}

void EventLoop::wake() noexcept {
  if (!woken_.exchange(true)) interrupt();
}

void EventLoop::drain(base::Millis deadline) noexcept {
  base::Millis before = drain_until_.load();
  while (deadline < before && !drain_until_.compare_exchange_weak(before, deadline)) {
  }
  wake();
}

bool EventLoop::give(int fd) {
  // Counted before it is sent: a loop does not end while something is on its way to it.
  std::uint32_t gifts = gifts_.load();
  do {
    if (gifts == kClosed) return false;
  } while (!gifts_.compare_exchange_weak(gifts, gifts + 1));
  engine_.post(*new Gift(*this, fd));
  return true;
}

std::uint32_t EventLoop::load() const noexcept {
  const std::uint32_t gifts = gifts_.load(std::memory_order_relaxed);
  return load_.load(std::memory_order_relaxed) + (gifts == kClosed ? 0 : gifts);
}

// ---- The parts of a turn ----

void EventLoop::woken() {
  // Cleared before the mail is taken: who posts after that wakes us again. An exchange, which sees what those have
  // posted who found it set.
  woken_.exchange(false);
  if (const base::Millis until = drain_until_.load(); until != draining_until_) begin_drain(until);
}

void EventLoop::do_what_is_due() {
  const base::Millis now = engine_.now().mono;
  if (gate_.may_open(now)) resume_accepting();
  if (refused_.due() <= now) refused_.expire(now);
  if (ports_close_at_ <= now) close_ports();
  own_due_ = std::min({gate_.opens_at(), refused_.due(), ports_close_at_});
}

// ---- New connections ----

void EventLoop::welcome(int fd) {
  EventLoop& home = home_for_next();
  if (&home == this || !home.give(fd)) open_channel(fd);
}

/// This loop, or a neighbour that has clearly less to do.
EventLoop& EventLoop::home_for_next() noexcept {
  const auto loops = static_cast<unsigned>(group_.loops.size());
  const std::uint32_t own = load();
  EventLoop* home = this;
  std::uint32_t least = own;
  for (unsigned i = 0; i < std::min(kNeighbours, loops - 1); ++i) {
    EventLoop& neighbour = *group_.loops[next_neighbour_++ % loops];
    const std::uint32_t load = neighbour.load();
    if (load + load / 16 + kGiveAbove < own && load < least) {
      home = &neighbour;
      least = load;
    }
  }
  return *home;
}

void EventLoop::refuse(int fd) {
  refused_.refuse(fd, engine_.refusal(), engine_.now().mono);
  own_due_ = 0;
}

bool EventLoop::accept_failed(IoError error) {
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

void EventLoop::pause_accepting(std::string_view why) {
  try_later();
  unwatch_ports();
  if (!group_.shortage_line.due(engine_.now().mono)) return;
  shared_.application.log("accepting is paused, new connections wait: " + std::string(why));
}

void EventLoop::resume_accepting() {
  if (engine_.has_place() || engine_.refuses_above_connections()) {
    watch_ports();
  } else {
    gate_.shut(engine_.now().mono);
  }
}

void EventLoop::socket_done(int fd, bool reset) {
  close_socket(fd, reset);
  note_load();
  if (gate_.is_open()) return;
  gate_.room_made();
  own_due_ = 0;
}

// ---- The end ----

void EventLoop::begin_drain(base::Millis deadline) {
  const bool first = !is_draining();
  draining_until_ = deadline;
  engine_.begin_drain(deadline);
  if (!first) return;
  for (const auto& port : ports_) port->listener.stop_handshakes();
  ports_close_at_ = engine_.now().mono + Listener::kHandshakeGraceMs;
  own_due_ = 0;
}

/// The second step of closing listeners, after stop_handshakes() and its grace: takes who is left.
void EventLoop::close_ports() {
  ports_close_at_ = AcceptGate::kNever;
  for (const auto& port : ports_) {
    while (accept_one(*port)) {
    }
  }
  unwatch_ports();
  forget_ports();
}

bool EventLoop::may_end() noexcept {
  if (!is_draining() || !ports_.empty() || !engine_.finished()) return false;
  std::uint32_t none = 0;
  return gifts_.compare_exchange_strong(none, kClosed);
}

}  // namespace leantea::net

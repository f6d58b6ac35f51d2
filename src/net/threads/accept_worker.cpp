#include "net/threads/accept_worker.hpp"

#include <algorithm>
#include <utility>

#include "app/application.hpp"
#include "net/thread_name.hpp"

namespace leantea::net::threads {

AcceptWorker::AcceptWorker(app::ServerShared& shared, Crew& crew, unsigned index)
    : shared_(shared), crew_(crew), index_(index), engine_(shared, *this, clock_.read()) {}

AcceptWorker::~AcceptWorker() = default;

std::expected<void, std::string> AcceptWorker::open(std::vector<Listener> listeners) {
  if (const int code = wake_.open(); code != 0) {
    return std::unexpected("cannot make an eventfd: " + error_text(code));
  }
  ports_ = std::move(listeners);
  watched_.push_back({.fd = wake_.fd(), .events = POLLIN, .revents = 0});
  for (const Listener& port : ports_) {
    watched_.push_back({.fd = port.fd(), .events = POLLIN, .revents = 0});
  }
  return {};
}

void AcceptWorker::run() {
  name_this_thread("leantea/a" + std::to_string(index_));
  while (!may_end()) turn();
}

void AcceptWorker::drain(base::Millis deadline) noexcept {
  base::Millis before = drain_until_.load();
  while (deadline < before && !drain_until_.compare_exchange_weak(before, deadline)) {
  }
  wake();
}

void AcceptWorker::room_made() noexcept {
  room_made_.store(true);
  wake();
}

// ---- One turn ----

void AcceptWorker::turn() {
  ::poll(watched_.data(), watched_.size(), wait_ms());
  engine_.set_now(clock_.read());
  if (watched_[0].revents != 0) {
    wake_.clear();
    if (room_made_.exchange(false)) gate_.room_made();
  }
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const pollfd& watched = watched_[i + 1];
    // Not the ones that are no longer watched since: there is no room.
    if (watched.fd >= 0 && watched.revents != 0) accept_ready(ports_[i]);
  }
  keep_time();
}

int AcceptWorker::wait_ms() const noexcept {
  const base::Millis due = std::min({gate_.opens_at(), refused_.due(), ports_close_at_});
  if (due == AcceptGate::kNever) return -1;
  return static_cast<int>(std::max<base::Millis>(due - engine_.now().mono, 0));
}

void AcceptWorker::keep_time() {
  const base::Millis now = engine_.now().mono;
  if (gate_.may_open(now)) resume_accepting();
  if (refused_.due() <= now) refused_.expire(now);
  if (ports_close_at_ <= now) close_ports();
  if (const base::Millis until = drain_until_.load(std::memory_order_acquire);
      until != draining_until_) {
    begin_drain(until);
  }
}

// ---- Listeners ----

void AcceptWorker::accept_ready(const Listener& listener) {
  for (int i = 0; i < kAcceptsPerTurn && accept_one(listener) == Accepted::kOne; ++i) {
  }
}

AcceptWorker::Accepted AcceptWorker::accept_one(const Listener& listener) {
  if (!engine_.take_place()) {
    if (engine_.refuses_above_connections()) return refuse_one(listener);
    return pause_accepting("as many connections as Limits::connections allows");
  }
  const Accepted accepted = hand_over(listener);
  if (accepted != Accepted::kOne) engine_.give_back_place();
  return accepted;
}

/// The thread comes first: a connection that is accepted and then waits for one would be worse off than in
/// the listen queue, from where another server on the same port could take it.
AcceptWorker::Accepted AcceptWorker::hand_over(const Listener& listener) {
  const Crew::Hired hired = crew_.hire();
  switch (hired.shortage) {
    case Crew::Shortage::kNone:
      break;
    case Crew::Shortage::kAllBusy:
      return pause_accepting("all connection threads are busy (ServerOptions::connection_threads)");
    case Crew::Shortage::kCannotStart:
      return pause_accepting("the system has no more threads or file descriptors (ulimit -u, -n)");
  }
  for (;;) {
    const AcceptResult next = accept_next(listener.fd(), listener.tcp_nodelay(), Blocking::kYes);
    if (next.error == IoError::kNone) {
      hired.thread->give(next.fd);
      return Accepted::kOne;
    }
    if (const Accepted failed = accept_failed(next.error); failed != Accepted::kOne) {
      crew_.let_go(*hired.thread);
      return failed;
    }
  }
}

/// kOne: this one failed, and another may be waiting.
AcceptWorker::Accepted AcceptWorker::accept_failed(IoError error) {
  switch (error) {
    case IoError::kWouldBlock:
      return Accepted::kNothing;
    case IoError::kNextPlease:
    case IoError::kGone:
      return Accepted::kOne;  // accept(2) passes on network errors of the new connection
    case IoError::kNone:
    case IoError::kNoResources:
    case IoError::kBroken:
      break;
  }
  return pause_accepting("no file descriptors or memory left (ulimit -n)");
}

AcceptWorker::Accepted AcceptWorker::refuse_one(const Listener& listener) {
  const AcceptResult next = accept_next(listener.fd(), listener.tcp_nodelay(), Blocking::kNo);
  if (next.error != IoError::kNone) return accept_failed(next.error);
  refused_.refuse(next.fd, engine_.refusal(), engine_.now().mono);
  return Accepted::kOne;
}

AcceptWorker::Accepted AcceptWorker::pause_accepting(std::string_view why) {
  const base::Millis now = engine_.now().mono;
  gate_.shut(now);
  crew_.want_room();
  unwatch_ports();
  if (crew_.shortage_line().due(now)) {
    shared_.application.log("accepting is paused, new connections wait: " + std::string(why));
  }
  return Accepted::kPaused;
}

void AcceptWorker::resume_accepting() {
  if (engine_.has_place() || engine_.refuses_above_connections()) {
    watch_ports();
  } else {
    crew_.want_room();
    gate_.shut(engine_.now().mono);
  }
}

void AcceptWorker::watch_ports() {
  for (std::size_t i = 0; i < ports_.size(); ++i) watched_[i + 1].fd = ports_[i].fd();
}

void AcceptWorker::unwatch_ports() noexcept {
  for (std::size_t i = 0; i < ports_.size(); ++i) watched_[i + 1].fd = -1;
}

// ---- The end ----

void AcceptWorker::begin_drain(base::Millis deadline) {
  const bool first = draining_until_ == AcceptGate::kNever;
  draining_until_ = deadline;
  if (!first) return;
  for (Listener& port : ports_) port.stop_handshakes();
  ports_close_at_ = engine_.now().mono + Listener::kHandshakeGraceMs;
}

/// The second step of closing listeners, after stop_handshakes() and its grace: takes who is left. While
/// there is no room they wait on, as long as the drain allows.
void AcceptWorker::close_ports() {
  const base::Millis now = engine_.now().mono;
  for (const Listener& port : ports_) {
    Accepted accepted = Accepted::kOne;
    while (accepted == Accepted::kOne) accepted = accept_one(port);
    if (accepted == Accepted::kPaused && now < draining_until_) {
      ports_close_at_ = gate_.opens_at();
      return;
    }
  }
  ports_close_at_ = AcceptGate::kNever;
  unwatch_ports();
  ports_.clear();
}

bool AcceptWorker::may_end() const noexcept {
  return draining_until_ != AcceptGate::kNever && ports_.empty();
}

}  // namespace leantea::net::threads

#include "net/threads/connection_thread.hpp"

#include <poll.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "net/peer_inquiry.hpp"
#include "net/thread_name.hpp"
#include "net/threads/blocking_socket.hpp"
#include "net/threads/crew.hpp"

namespace leantea::net::threads {
namespace {

#ifdef POLLRDHUP
constexpr short kPollEnd = POLLRDHUP;
#else
constexpr short kPollEnd = 0;  // the peer's end is seen only where its input is wanted
#endif

Channel& channel_of(app::Connection& connection) noexcept {
  return reinterpret_cast<Channel&>(connection);
}

}  // namespace

ConnectionThread::ConnectionThread(app::ServerShared& shared, Crew& crew)
    : shared_(shared),
      crew_(crew),
      receive_buffer_(std::make_unique_for_overwrite<char[]>(kReceiveBytes)) {
  renew_engine();
}

ConnectionThread::~ConnectionThread() = default;

bool ConnectionThread::start(unsigned index) {
  if (wake_.open() != 0) return false;
  try {
    thread_ = std::thread([this, index] {
      name_this_thread("leantea/c" + std::to_string(index));
      run();
    });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void ConnectionThread::give(int fd) {
  {
    const std::lock_guard lock(mutex_);
    next_fd_ = fd;
    fd_ = fd;
  }
  given_.notify_one();
}

void ConnectionThread::drain() noexcept {
  wake_.set();
  const std::lock_guard lock(mutex_);
  Waits place = Waits::kInReceive;
  if (waits_.compare_exchange_strong(place, Waits::kShutDown)) shut_down_receiving(fd_);
}

// ---- The thread ----

void ConnectionThread::run() {
  do {
    const int fd = next_socket();
    if (fd == kDismissed) break;
    tell_time();
    turn();
    serve(fd);
    wait_for_workers();
    renew_engine();
  } while (crew_.come_home(*this));
  // A worker may just be leaving Engine::post().
  while (!engine_->finished()) std::this_thread::yield();
}

int ConnectionThread::next_socket() {
  std::unique_lock lock(mutex_);
  given_.wait(lock, [this] { return next_fd_ != kNothing; });
  return std::exchange(next_fd_, kNothing);
}

/// Handlers of the last connection may still be out with workers: until they are back the thread is
/// theirs, as it was their connection's.
void ConnectionThread::wait_for_workers() {
  while (engine_->handlers_out()) {
    pollfd watched{.fd = wake_.fd(), .events = POLLIN, .revents = 0};
    ::poll(&watched, 1, engine_->wait_ms());
    if (watched.revents != 0) wake_.clear();
    tell_time();
    turn();
  }
}

/// Makes the engine, or a new one where the old one has become too large.
void ConnectionThread::renew_engine() {
  if (engine_ && (engine_->blocks().free_count() <= kKeepBlocks || !engine_->finished())) return;
  engine_.emplace(shared_, *this, clock_.read());
  engine_->set_peer_inquiry(kPeerInquiry<&ConnectionThread::descriptor_of>);
  draining_until_ = kNever;
}

// ---- Waiting for what happens next ----

/// True when only the client can make something happen, or time.
bool ConnectionThread::rests(const Channel& channel) const noexcept {
  const app::Connection& connection = channel.connection;
  return connection.wants_input() && !connection.wants_output() && connection.in_progress() == 0 &&
         !channel.input_shut && !engine_->handlers_out();
}

void ConnectionThread::wait_in_receive(Channel& channel) {
  const int wait_ms = engine_->wait_ms();
  if (wait_ms == 0) return tell_time();
  bound_receive(channel, wait_ms);
  const std::span<char> space{receive_buffer_.get(), kReceiveBytes};
  const IoResult got = receive_unless_draining(channel, space);
  channel.timed_out = got.error == IoError::kWouldBlock;
  tell_time();
  take_input(channel, got, space);
}

/// Sees to it that receive() comes back when a deadline is due. With every request of a lively connection
/// the deadline is a little nearer: to follow it would cost a system call each, so the timeout is set to half
/// of what is left, then half of that. A connection that was quiet for as long is not lively: it gets all.
void ConnectionThread::bound_receive(Channel& channel, int wait_ms) noexcept {
  if (wait_ms < 0) return;  // a timeout from before comes back too early, which does no harm
  if (!channel.timed_out && wait_ms >= channel.receive_timeout) return;
  const bool lively = !channel.timed_out && wait_ms > kFinestStepMs;
  channel.receive_timeout = lively ? wait_ms / 2 : wait_ms;
  set_receive_timeout(channel.fd, channel.receive_timeout);
}

IoResult ConnectionThread::receive_unless_draining(Channel& channel,
                                                   std::span<char> space) noexcept {
  // First we say where we are, then look for a drain; drain() does it the other way round. So either it is
  // seen here or we are seen there.
  waits_.store(Waits::kInReceive);
  IoResult got{.bytes = 0, .error = IoError::kWouldBlock};
  if (crew_.drain_until() == draining_until_) got = receive(channel.fd, space);
  channel.input_shut = waits_.exchange(Waits::kElsewhere) == Waits::kShutDown;
  return got;
}

void ConnectionThread::wait_in_poll(Channel& channel) {
  pollfd watched[2] = {{.fd = channel.fd, .events = wanted_events(channel), .revents = 0},
                       {.fd = wake_.fd(), .events = POLLIN, .revents = 0}};
  int wait_ms = engine_->wait_ms();
  if (channel.input_shut) {
    // poll() calls a socket that is shut for receiving readable for ever. Input is looked for instead; it
    // is not for long.
    if (!channel.write_blocked) watched[0].fd = -1;
    const int look_ms = channel.connection.in_progress() == 0 ? kLookAtRestMs : kLookMs;
    wait_ms = wait_ms < 0 ? look_ms : std::min(wait_ms, look_ms);
  }
  if (channel.connection.wants_output() && !channel.write_blocked) wait_ms = 0;
  ::poll(watched, 2, wait_ms);
  tell_time();
  if (watched[1].revents != 0) wake_.clear();
  channel_ready(channel, watched[0].revents);
}

void ConnectionThread::channel_ready(Channel& channel, short events) {
  app::Connection& connection = channel.connection;
  const bool broken = (events & (POLLERR | POLLHUP)) != 0;
  if ((events & POLLOUT) != 0) channel.write_blocked = false;
  if (connection.wants_input()) {
    if ((events & POLLIN) != 0 || broken || channel.input_shut) read_ready(channel);
  } else if (broken) {
    connection.peer_gone();
  } else if ((events & kPollEnd) != 0) {
    channel.end_seen = true;
    connection.end_announced();
  }
}

short ConnectionThread::wanted_events(const Channel& channel) noexcept {
  short events = channel.write_blocked ? POLLOUT : 0;
  if (channel.input_shut) return events;
  if (channel.connection.wants_input()) {
    events = static_cast<short>(events | POLLIN);
  } else if (!channel.end_seen) {
    events = static_cast<short>(events | kPollEnd);
  }
  return events;
}

/// What is due after every wait. All that it touches is the one connection, which is settled next.
void ConnectionThread::turn() {
  if (const base::Millis until = crew_.drain_until(); until != draining_until_) {
    draining_until_ = until;
    engine_->begin_drain(until);
  }
  engine_->run_posted();
  engine_->run_due();
  while (engine_->take_touched() != nullptr) {
  }
}

void ConnectionThread::close(Channel& channel) {
  const std::lock_guard lock(mutex_);
  fd_ = kNothing;
  close_socket(channel.fd, channel.connection.reset_on_close());
}

int ConnectionThread::descriptor_of(const app::Connection& connection) {
  return channel_of(const_cast<app::Connection&>(connection)).fd;
}

}  // namespace leantea::net::threads

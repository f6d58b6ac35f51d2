#include "net/reactor/poller_kqueue.hpp"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include <cstdint>
#include <limits>

#include "base/assert.hpp"
#include "net/socket.hpp"

namespace leantea::net::readiness {
namespace {

constexpr std::uintptr_t kWakeIdent = 0;

/// At most the changes of both filters of one descriptor.
struct Changes {
  std::array<struct kevent, 2> list;
  int count = 0;

  void push(int fd, short filter, unsigned flags, unsigned notes, std::intptr_t data, void* tag) {
    struct kevent& change = list[static_cast<unsigned>(count++)];
    EV_SET(&change, static_cast<std::uintptr_t>(fd), filter, static_cast<unsigned short>(flags),
           notes, data, tag);
  }
};

/// Filters with this low-water mark tell only an end.
constexpr std::intptr_t kNeverReached = std::numeric_limits<int>::max();

enum class ReadFilter : std::uint8_t { kNone, kBytes, kEndOnly };
enum class WriteFilter : std::uint8_t { kNone, kRoom, kBreakOnly };

constexpr ReadFilter read_filter_of(Interest interest) noexcept {
  if (has(interest, Interest::kRead)) return ReadFilter::kBytes;
  return has(interest, Interest::kEnd) ? ReadFilter::kEndOnly : ReadFilter::kNone;
}

/// Nobody else tells of a broken connection where nothing is asked for.
constexpr WriteFilter write_filter_of(Interest interest) noexcept {
  if (has(interest, Interest::kWrite)) return WriteFilter::kRoom;
  return interest == Interest::kNothing ? WriteFilter::kBreakOnly : WriteFilter::kNone;
}

void push_read(Changes& changes, int fd, ReadFilter from, ReadFilter to, void* tag) {
  if (from == to) return;
  if (to == ReadFilter::kNone) {
    changes.push(fd, EVFILT_READ, EV_DELETE, 0, 0, tag);
  } else if (to == ReadFilter::kBytes) {
    changes.push(fd, EVFILT_READ, EV_ADD, 0, 0, tag);
  } else {
    changes.push(fd, EVFILT_READ, EV_ADD, NOTE_LOWAT, kNeverReached, tag);
  }
}

void push_write(Changes& changes, int fd, WriteFilter from, WriteFilter to, void* tag) {
  if (from == to) return;
  if (to == WriteFilter::kNone) {
    changes.push(fd, EVFILT_WRITE, EV_DELETE, 0, 0, tag);
  } else if (to == WriteFilter::kRoom) {
    changes.push(fd, EVFILT_WRITE, EV_ADD, 0, 0, tag);
  } else {
    changes.push(fd, EVFILT_WRITE, EV_ADD, NOTE_LOWAT, kNeverReached, tag);
  }
}

int control(int kqueue, const Changes& changes) noexcept {
  if (changes.count == 0) return 0;
  const int done = kevent(kqueue, changes.list.data(), changes.count, nullptr, 0, nullptr);
  return done >= 0 ? 0 : errno;
}

}  // namespace

std::expected<void, std::string> KqueuePoller::open() {
  kqueue_ = Fd(kqueue());
  if (!kqueue_) return std::unexpected("cannot make a kqueue: " + error_text(errno));
  fcntl(kqueue_.get(), F_SETFD, FD_CLOEXEC);
  // EV_CLEAR: each trigger is told once, so nobody has to take it back.
  struct kevent change;
  EV_SET(&change, kWakeIdent, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, nullptr);
  if (kevent(kqueue_.get(), &change, 1, nullptr, 0, nullptr) < 0) {
    return std::unexpected("cannot watch for wake-ups: " + error_text(errno));
  }
  return {};
}

int KqueuePoller::add(int fd, Interest interest, void* tag) noexcept {
  LEANTEA_ASSERT(tag != nullptr);
  return change(fd, Interest::kUnwatched, interest, tag);
}

int KqueuePoller::add_listener(int fd, bool /*shared*/, void* tag) noexcept {
  LEANTEA_ASSERT(tag != nullptr);
  return change(fd, Interest::kUnwatched, Interest::kRead, tag);
}

int KqueuePoller::change(int fd, Interest from, Interest to, void* tag) noexcept {
  Changes changes;
  push_read(changes, fd, read_filter_of(from), read_filter_of(to), tag);
  push_write(changes, fd, write_filter_of(from), write_filter_of(to), tag);
  return control(kqueue_.get(), changes);
}

void KqueuePoller::remove(int fd) noexcept {
  // One by one: a filter that is not there is an error, which ends the changes behind it.
  for (const int filter : {EVFILT_READ, EVFILT_WRITE}) {
    Changes changes;
    changes.push(fd, static_cast<short>(filter), EV_DELETE, 0, 0, nullptr);
    control(kqueue_.get(), changes);
  }
}

int KqueuePoller::wait(int timeout_ms) noexcept {
  timespec timeout{};
  timeout.tv_sec = timeout_ms / 1000;
  timeout.tv_nsec = (timeout_ms % 1000) * 1'000'000L;
  const int count = kevent(kqueue_.get(), nullptr, 0, events_.data(), kBatch,
                           timeout_ms < 0 ? nullptr : &timeout);
  if (count >= 0) return count;
  LEANTEA_ASSERT(errno == EINTR);  // EBADF, EFAULT, EINVAL are mistakes of ours
  return 0;
}

void KqueuePoller::wake() noexcept {
  struct kevent change;
  EV_SET(&change, kWakeIdent, EVFILT_USER, 0, NOTE_TRIGGER, 0, nullptr);
  kevent(kqueue_.get(), &change, 1, nullptr, 0, nullptr);
}

}  // namespace leantea::net::readiness

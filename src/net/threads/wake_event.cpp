#include "net/threads/wake_event.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/eventfd.h>
#endif

#include <cstdint>

#include "net/socket.hpp"

namespace leantea::net::threads {

int WakeEvent::open() noexcept {
#ifdef __linux__
  read_end_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  return read_end_ ? 0 : errno;
#else
  int ends[2];
  if (pipe(ends) != 0) return errno;
  read_end_ = Fd(ends[0]);
  write_end_ = Fd(ends[1]);
  for (const int end : ends) {
    fcntl(end, F_SETFD, FD_CLOEXEC);
    set_nonblocking(end, true);
  }
  return 0;
#endif
}

void WakeEvent::set() noexcept {
  if (set_.exchange(true)) return;
  const std::uint64_t one = 1;
  const int end = write_end_ ? write_end_.get() : read_end_.get();
  [[maybe_unused]] const ssize_t written = ::write(end, &one, sizeof one);
}

void WakeEvent::clear() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(read_end_.get(), &count, sizeof count);
  // In this order: the other way round a set() in between would have its write read away, and all later
  // ones would believe that it is still to be seen.
  set_.exchange(false);
}

}  // namespace leantea::net::threads

#include "net/reactor/poller_epoll.hpp"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "base/assert.hpp"
#include "net/socket.hpp"

namespace leantea::net::readiness {
namespace {

constexpr std::uint32_t bits_of(Interest interest) noexcept {
  return (has(interest, Interest::kRead) ? static_cast<std::uint32_t>(EPOLLIN) : 0U) |
         (has(interest, Interest::kWrite) ? static_cast<std::uint32_t>(EPOLLOUT) : 0U) |
         (has(interest, Interest::kEnd) ? static_cast<std::uint32_t>(EPOLLRDHUP) : 0U);
}

int control(int epoll, int operation, int fd, std::uint32_t bits, void* tag) noexcept {
  epoll_event event{};
  event.events = bits;
  event.data.ptr = tag;
  return epoll_ctl(epoll, operation, fd, &event) == 0 ? 0 : errno;
}

}  // namespace

std::expected<void, std::string> EpollPoller::open() {
  epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return std::unexpected("cannot make an epoll instance: " + error_text(errno));
  wake_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) return std::unexpected("cannot make an eventfd: " + error_text(errno));
  // Edge-triggered: each write is told once, so nobody has to read the counter back to zero.
  if (const int code =
          control(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), EPOLLIN | EPOLLET, nullptr);
      code != 0) {
    return std::unexpected("cannot watch the eventfd: " + error_text(code));
  }
  return {};
}

int EpollPoller::add(int fd, Interest interest, void* tag) noexcept {
  LEANTEA_ASSERT(tag != nullptr);
  return control(epoll_.get(), EPOLL_CTL_ADD, fd, bits_of(interest), tag);
}

int EpollPoller::add_listener(int fd, bool shared, void* tag) noexcept {
  LEANTEA_ASSERT(tag != nullptr);
  const std::uint32_t exclusive = shared ? static_cast<std::uint32_t>(EPOLLEXCLUSIVE) : 0U;
  return control(epoll_.get(), EPOLL_CTL_ADD, fd, bits_of(Interest::kRead) | exclusive, tag);
}

int EpollPoller::change(int fd, Interest /*from*/, Interest to, void* tag) noexcept {
  return control(epoll_.get(), EPOLL_CTL_MOD, fd, bits_of(to), tag);
}

void EpollPoller::remove(int fd) noexcept { control(epoll_.get(), EPOLL_CTL_DEL, fd, 0, nullptr); }

int EpollPoller::wait(int timeout_ms) noexcept {
  const int count = system_call::epoll_wait(epoll_.get(), events_.data(), kBatch, timeout_ms);
  if (count >= 0) return count;
  LEANTEA_ASSERT(count == -EINTR);  // EBADF, EFAULT, EINVAL are mistakes of ours
  return 0;
}

void EpollPoller::wake() noexcept {
  const std::uint64_t one = 1;
  // Fails only when the counter is full, and then the loop has been woken 2^64 times.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

}  // namespace leantea::net::readiness

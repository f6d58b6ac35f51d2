#include "net/threads/blocking_socket.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/assert.hpp"
#include "net/system_call.hpp"

namespace leantea::net::threads {
namespace {

constexpr int kFlags = kSendFlags | MSG_DONTWAIT;

/// The number of bytes sent, or the negated errno value.
ssize_t send_message(int fd, std::span<struct iovec> pieces) noexcept {
  struct msghdr message = {};
  message.msg_iov = pieces.data();
  message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(pieces.size());
  const ssize_t gone = ::sendmsg(fd, &message, kFlags);
  return gone >= 0 ? gone : -errno;
}

}  // namespace
IoResult receive_now(int fd, std::span<char> space) noexcept {
  LEANTEA_ASSERT(!space.empty());  // 0 bytes back would read as the end of the stream
  for (;;) {
    const ssize_t got = ::recv(fd, space.data(), space.size(), MSG_DONTWAIT);
    if (got >= 0) return {.bytes = got, .error = IoError::kNone};
    if (errno != EINTR) return {.bytes = 0, .error = classify(errno)};
  }
}

IoResult send_now(int fd, std::span<struct iovec> pieces) noexcept {
  LEANTEA_ASSERT(!pieces.empty());
  for (;;) {
    const ssize_t gone = pieces.size() == 1
                             ? system_call::send(fd, pieces[0].iov_base, pieces[0].iov_len, kFlags)
                             : send_message(fd, pieces);
    if (gone >= 0) return {.bytes = gone, .error = IoError::kNone};
    if (gone != -EINTR) return {.bytes = 0, .error = classify(static_cast<int>(-gone))};
  }
}

void set_receive_timeout(int fd, int ms) noexcept {
  LEANTEA_ASSERT(ms > 0);  // 0 would be for ever
  const timeval timeout{.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

void shut_down_receiving(int fd) noexcept { ::shutdown(fd, SHUT_RD); }

bool peer_has_ended([[maybe_unused]] int fd) noexcept {
#ifdef __linux__
  tcp_info info{};
  socklen_t size = sizeof info;
  // Not TCP: after our shutdown the peer of a Unix socket cannot send any more.
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return info.tcpi_state != TCP_ESTABLISHED && info.tcpi_state != TCP_FIN_WAIT1 &&
         info.tcpi_state != TCP_FIN_WAIT2;
#else
  return true;  // elsewhere the kernel drops what comes after the shutdown
#endif
}

}  // namespace leantea::net::threads

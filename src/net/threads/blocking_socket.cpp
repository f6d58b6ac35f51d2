#include "net/threads/blocking_socket.hpp"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/assert.hpp"

namespace leantea::net::threads {
namespace {

#ifdef MSG_NOSIGNAL
constexpr int kSendFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
#else
constexpr int kSendFlags = MSG_DONTWAIT;  // SO_NOSIGPIPE is set on the socket instead
#endif

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
    ssize_t gone = 0;
    if (pieces.size() == 1) {
      gone = ::send(fd, pieces[0].iov_base, pieces[0].iov_len, kSendFlags);
    } else {
      struct msghdr message = {};
      message.msg_iov = pieces.data();
      message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(pieces.size());
      gone = ::sendmsg(fd, &message, kSendFlags);
    }
    if (gone >= 0) return {.bytes = gone, .error = IoError::kNone};
    if (errno != EINTR) return {.bytes = 0, .error = classify(errno)};
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

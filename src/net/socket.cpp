#include "net/socket.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <system_error>

#include "base/assert.hpp"

namespace leantea::net {
namespace {

/// accept(2) with what every accepted socket of ours has.
int accept_raw(int listener, Blocking blocking) noexcept {
#ifdef SOCK_CLOEXEC
  return accept4(listener, nullptr, nullptr,
                 SOCK_CLOEXEC | (blocking == Blocking::kYes ? 0 : SOCK_NONBLOCK));
#else
  const int fd = ::accept(listener, nullptr, nullptr);
  if (fd >= 0) {
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    set_nonblocking(fd, blocking == Blocking::kNo);
  }
  return fd;
#endif
}

/// Linux hands TCP_NODELAY down from the listening socket, so that there it costs no system call per
/// connection; elsewhere that is not promised.
void prepare_accepted([[maybe_unused]] int fd, [[maybe_unused]] bool tcp_nodelay) noexcept {
#ifndef __linux__
  const int on = 1;
  if (tcp_nodelay) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#endif
#ifdef SO_NOSIGPIPE
  const int quiet = 1;
  setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &quiet, sizeof quiet);
#endif
}

std::string ip_text(int family, const void* address, in_port_t port) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (inet_ntop(family, address, text.data(), text.size()) == nullptr) return {};
  const std::string host{text.data()};
  const std::string number = std::to_string(ntohs(port));
  return family == AF_INET6 ? "[" + host + "]:" + number : host + ":" + number;
}

std::string unix_text(const sockaddr_un& address, socklen_t length) {
  const std::size_t before_path = offsetof(sockaddr_un, sun_path);
  if (length <= before_path) return "unix:";
  const std::size_t room = length - before_path;
  // Linux: a name that starts with a zero byte lives outside the file system, as long as it says.
  if (address.sun_path[0] == '\0') return "unix:@" + std::string(address.sun_path + 1, room - 1);
  return "unix:" + std::string(address.sun_path, strnlen(address.sun_path, room));
}

}  // namespace

IoError classify(int code) noexcept {
  switch (code) {
    case 0:
      return IoError::kNone;

    case EAGAIN:
#if EAGAIN != EWOULDBLOCK
    case EWOULDBLOCK:
#endif
      return IoError::kWouldBlock;

    case ECONNRESET:    // RST while connected
    case EPIPE:         // sending after the peer's RST, or after our own shutdown
    case ENOTCONN:      // the RST came before the first operation
    case ETIMEDOUT:     // retransmissions or keep-alive probes went unanswered
    case ECONNREFUSED:  // an ICMP error on an established connection
    case EHOSTUNREACH:  // the same, or a route went away
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
    case ENETRESET:
      return IoError::kGone;

    case ECONNABORTED:  // accept: the connection was reset in the queue
    case EPROTO:        // the same on older systems
    case EPERM:         // a firewall rule forbids this one
    case EINTR:         // a signal
#ifdef ENONET
    case ENONET:  // accept(2) passes on errors of the new connection
#endif
    case ENOPROTOOPT:
      return IoError::kNextPlease;

    case EMFILE:   // this process has all the descriptors it may
    case ENFILE:   // the system has
    case ENOBUFS:  // no socket buffers
    case ENOMEM:   // no memory
    case ENOSPC:   // epoll: too many watches
      return IoError::kNoResources;

    default:
      return IoError::kBroken;  // EBADF, EFAULT, EINVAL, ENOTSOCK, EOPNOTSUPP, EMSGSIZE
  }
}

AcceptResult accept_next(int listener, bool tcp_nodelay, Blocking blocking) noexcept {
  const int fd = accept_raw(listener, blocking);
  if (fd < 0) return {.fd = -1, .error = classify(errno)};
  prepare_accepted(fd, tcp_nodelay);
  return {.fd = fd, .error = IoError::kNone};
}

IoResult send_several(int fd, std::span<struct iovec> pieces) noexcept {
  struct msghdr message = {};
  message.msg_iov = pieces.data();
  message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(pieces.size());
  for (;;) {
    const ssize_t gone = ::sendmsg(fd, &message, kSendFlags);
    if (gone >= 0) return {.bytes = gone, .error = IoError::kNone};
    if (errno != EINTR) return {.bytes = 0, .error = classify(errno)};
  }
}

void shut_down_sending(int fd) noexcept { ::shutdown(fd, SHUT_WR); }

void close_socket(int fd, bool reset) noexcept {
  if (reset) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  // Not repeated on EINTR: the descriptor is closed then, too, and may already be somebody else's.
  ::close(fd);
}

bool set_nonblocking(int fd, bool on) noexcept {
  const int flags = fcntl(fd, F_GETFL, 0);
  if (flags < 0) return false;
  return fcntl(fd, F_SETFL, on ? (flags | O_NONBLOCK) : (flags & ~O_NONBLOCK)) == 0;
}

std::string to_text(const sockaddr* address, socklen_t length) {
  if (length < sizeof(sa_family_t)) return {};
  switch (address->sa_family) {
    case AF_INET: {
      sockaddr_in v4{};
      std::memcpy(&v4, address, std::min<std::size_t>(length, sizeof v4));
      return ip_text(AF_INET, &v4.sin_addr, v4.sin_port);
    }
    case AF_INET6: {
      sockaddr_in6 v6{};
      std::memcpy(&v6, address, std::min<std::size_t>(length, sizeof v6));
      if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        return ip_text(AF_INET, &v6.sin6_addr.s6_addr[12], v6.sin6_port);
      }
      return ip_text(AF_INET6, &v6.sin6_addr, v6.sin6_port);
    }
    case AF_UNIX: {
      sockaddr_un local{};
      std::memcpy(&local, address, std::min<std::size_t>(length, sizeof local));
      return unix_text(local, length);
    }
    default:
      return {};
  }
}

std::string peer_name(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (getpeername(fd, address, &length) != 0) return {};
  return to_text(address, length);
}

base::Millis delivery_age([[maybe_unused]] int fd) noexcept {
#ifdef __linux__
  struct tcp_info info{};
  socklen_t length = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || info.tcpi_retransmits != 0)
    return -1;
  return static_cast<base::Millis>(info.tcpi_last_data_sent);
#else
  return -1;
#endif
}

std::string error_text(int code) { return std::generic_category().message(code); }

}  // namespace leantea::net

// The operations on sockets that all backends share, and what their errors mean for a server.
//
// Free functions over descriptors, no state: any thread. They hold no protocol and keep no views.
// errno becomes an IoError in one function, classify(), which names every code that can come.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/assert.hpp"
#include "base/timer_wheel.hpp"
#include "net/system_call.hpp"

namespace leantea::net {

/// What a failed operation means for the one who called it.
enum class IoError : std::uint8_t {
  kNone,
  kWouldBlock,   ///< nothing to do now, wait for readiness
  kGone,         ///< the peer is gone: nothing more can be sent or received
  kNextPlease,   ///< accept: this one connection failed, the next may not
  kNoResources,  ///< no descriptors or no memory now: try later
  kBroken,       ///< a mistake of ours (bad descriptor, bad address)
};

/// The meaning of an errno value.
IoError classify(int code) noexcept;

struct IoResult {
  ssize_t bytes = 0;  ///< moved; 0 from receive() is the end of the stream
  IoError error = IoError::kNone;

  bool ok() const noexcept { return error == IoError::kNone; }
};

struct AcceptResult {
  int fd = -1;
  IoError error = IoError::kNone;
};

/// Whether operations on an accepted socket wait (threads backend) or not (all others).
enum class Blocking : std::uint8_t { kNo, kYes };

/// The most pieces that one send() gets. From Limits::output_bytes (256 KiB) over output blocks of 4
/// KiB; far below what the kernel takes (IOV_MAX, 1024).
inline constexpr std::size_t kMaxPieces = 64;

/// Takes the next connection from a listening socket. The new descriptor is closed on exec.
AcceptResult accept_next(int listener, bool tcp_nodelay, Blocking blocking) noexcept;

/// Receives what is there, at most `space`. REQUIRES: space is not empty.
inline IoResult receive(int fd, std::span<char> space) noexcept {
  LEANTEA_ASSERT(!space.empty());  // 0 bytes back would read as the end of the stream
  for (;;) {
    const ssize_t got = system_call::recv(fd, space.data(), space.size());
    if (got >= 0) [[likely]]
      return {.bytes = got, .error = IoError::kNone};
    if (got != -EINTR) return {.bytes = 0, .error = classify(static_cast<int>(-got))};
  }
}

#ifdef MSG_NOSIGNAL
inline constexpr int kSendFlags = MSG_NOSIGNAL;
#else
inline constexpr int kSendFlags = 0;  // macOS: SO_NOSIGPIPE on each socket instead
#endif

/// Sends several pieces with one system call; what send() does with more than one.
IoResult send_several(int fd, std::span<struct iovec> pieces) noexcept;

/// Sends the pieces with one system call. Never raises SIGPIPE. REQUIRES: at least one piece.
inline IoResult send(int fd, std::span<struct iovec> pieces) noexcept {
  LEANTEA_ASSERT(!pieces.empty());
  if (pieces.size() > 1) return send_several(fd, pieces);
  for (;;) {
    const ssize_t gone = system_call::send(fd, pieces[0].iov_base, pieces[0].iov_len, kSendFlags);
    if (gone >= 0) [[likely]]
      return {.bytes = gone, .error = IoError::kNone};
    if (gone != -EINTR) return {.bytes = 0, .error = classify(static_cast<int>(-gone))};
  }
}

/// Tells the peer that nothing more will be sent (FIN).
void shut_down_sending(int fd) noexcept;

/// Closes; with `reset` by an RST, so that what is unsent is dropped and the peer sees an error.
void close_socket(int fd, bool reset) noexcept;

/// Whether it blocks is up to its flags. False when the descriptor is bad.
bool set_nonblocking(int fd, bool on) noexcept;

/// "192.0.2.1:4711", "[2001:db8::1]:4711", "unix:/run/app.sock", "unix:" for an unnamed socket. An
/// IPv4 address mapped into IPv6 is shown as IPv4.
std::string to_text(const struct sockaddr* address, socklen_t length);

/// The other end of a connection as to_text() writes it, empty when it is not known (any more).
std::string peer_name(int fd);

/// Milliseconds since bytes of `fd` left for its peer because the peer had room for them: it reads. Bytes that are sent
/// again because nobody confirms them do not count. Negative when the system does not tell (sockets that are not TCP,
/// systems other than Linux).
base::Millis delivery_age(int fd) noexcept;

/// "Too many open files" for EMFILE; thread-safe.
std::string error_text(int code);

}  // namespace leantea::net

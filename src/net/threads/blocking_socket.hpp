// What a blocking socket can be asked for beside the operations of net/socket.hpp: to wait no longer than
// so, or not at all.
//
// Free functions over descriptors, no state: any thread.
#pragma once

#include <sys/uio.h>

#include <span>

#include "net/socket.hpp"

namespace leantea::net::threads {

/// As receive() and send(), but with kWouldBlock where those would wait.
IoResult receive_now(int fd, std::span<char> space) noexcept;
IoResult send_now(int fd, std::span<struct iovec> pieces) noexcept;

/// Lets receive() wait for at most `ms` milliseconds; then it says kWouldBlock. REQUIRES: ms > 0.
void set_receive_timeout(int fd, int ms) noexcept;

/// Makes a receive() that waits on another thread return at once, and every later one that finds nothing. What
/// still comes is received all the same.
void shut_down_receiving(int fd) noexcept;
/// After shut_down_receiving(), when a receive has brought 0 bytes: whether the peer has ended its side.
bool peer_has_ended(int fd) noexcept;

}  // namespace leantea::net::threads

// RefusedSockets: sockets of clients that were turned away, kept for a moment after the answer.
//
// Closing a socket with unread bytes makes the kernel send an RST, which can overtake the answer
// (RFC 9112 §9.6); a client that is turned away has a request under way. So the answer is sent, the
// sending side shut down, and the socket kept until the client has had time to read.
//
// One thread. Bounded: when it is full the oldest is closed early.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/timer_wheel.hpp"

namespace leantea::net {

class RefusedSockets {
 public:
  /// Descriptors kept at most: few, as they are refused because something has run out.
  static constexpr std::size_t kCapacity = 64;
  /// How long one is kept.
  static constexpr base::Millis kKeepMs = 1'000;
  static constexpr base::Millis kNever = INT64_MAX;

  RefusedSockets() = default;
  ~RefusedSockets();
  RefusedSockets(const RefusedSockets&) = delete;
  RefusedSockets& operator=(const RefusedSockets&) = delete;

  /// Sends `answer` (as much of it as the kernel takes at once) and takes over the socket.
  void refuse(int fd, std::string_view answer, base::Millis now) noexcept;
  /// Closes those whose time is over.
  void expire(base::Millis now) noexcept;
  /// When expire() next has something to do; kNever when the place is empty.
  base::Millis due() const noexcept;

 private:
  struct Entry {
    int fd = -1;
    base::Millis due = 0;
  };

  Entry& oldest() noexcept { return ring_[first_]; }
  void close_oldest() noexcept;

  std::array<Entry, kCapacity> ring_{};
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace leantea::net

// Operation: what a loop asks its ring to do; Tag: what the ring gives back with each completion.
//
// Values. A tag is one word: a pointer with the operation in its three lowest bits.
#pragma once

#include <cstdint>

#include "base/assert.hpp"

namespace leantea::net::uring {

enum class Operation : std::uint8_t {
  kNone = 0,     ///< completions that nobody waits for
  kWake = 1,     ///< another thread woke the loop
  kAccept = 2,   ///< a listener's connections, until it ends
  kReceive = 3,  ///< a connection's bytes, until it ends
  kSend = 4,     ///< one piece of output
  kRoom = 5,     ///< waits for room to send
  kEnd = 6,      ///< waits for the end of a connection that is not received from
};

/// A set of operations as bits.
constexpr std::uint8_t bit_of(Operation operation) noexcept {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(operation));
}

class Tag {
 public:
  constexpr Tag() noexcept = default;
  explicit constexpr Tag(std::uint64_t bits) noexcept : bits_(bits) {}
  /// REQUIRES: the object is aligned to 8 bytes or more.
  Tag(void* object, Operation operation) noexcept
      : bits_(reinterpret_cast<std::uintptr_t>(object) | static_cast<std::uint64_t>(operation)) {
    LEANTEA_ASSERT((reinterpret_cast<std::uintptr_t>(object) & kMask) == 0);
  }

  std::uint64_t bits() const noexcept { return bits_; }
  Operation operation() const noexcept { return static_cast<Operation>(bits_ & kMask); }
  template <class T>
  T& object() const noexcept {
    return *reinterpret_cast<T*>(static_cast<std::uintptr_t>(bits_ & ~kMask));
  }

 private:
  static constexpr std::uint64_t kMask = 7;
  std::uint64_t bits_ = 0;
};

}  // namespace leantea::net::uring

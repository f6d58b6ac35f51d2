// Interest: what a loop wants to hear about a descriptor. The word that all pollers share.
#pragma once

#include <cstdint>

namespace leantea::net::readiness {

/// A set of bits. Errors and the end of both directions are always told, also with kNothing.
enum class Interest : std::uint8_t {
  kNothing = 0,
  kRead = 1,   ///< bytes, a connection to accept, or the end of the stream
  kWrite = 2,  ///< room for bytes
  kEnd = 4,  ///< that the peer has ended its sending side, also while bytes before that wait unread
  kUnwatched = 128,  ///< alone: the poller does not know the descriptor
};

constexpr Interest operator|(Interest a, Interest b) noexcept {
  return static_cast<Interest>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}

constexpr bool has(Interest set, Interest one) noexcept {
  return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(one)) != 0;
}

}  // namespace leantea::net::readiness

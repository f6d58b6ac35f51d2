// AcceptGate: when a loop may accept. It shuts when there are no descriptors, no memory or no place
// for another connection, and opens again when one of this loop's connections has closed, or after a
// short while (another loop, or something else in the process, may have made room).
//
// One thread, the loop's. It knows no sockets: the loop disarms its listeners while the gate is shut,
// so that waiting costs nothing, and arms them when may_open() says so. Established connections go on
// as before; new ones wait in the listen queue.
#pragma once

#include <limits>

#include "base/timer_wheel.hpp"

namespace leantea::net {

class AcceptGate {
 public:
  static constexpr base::Millis kNever = std::numeric_limits<base::Millis>::max();
  /// How long accepting pauses when no connection closes meanwhile: long enough to cost nothing (20
  /// attempts a second), short enough that a client does not notice.
  static constexpr base::Millis kRetryMs = 50;

  bool is_open() const noexcept { return opens_at_ == kNever; }
  /// Shuts the gate until a connection closes or kRetryMs have passed.
  void shut(base::Millis now) noexcept { opens_at_ = now + kRetryMs; }
  /// A connection of this loop has closed: there is room again.
  void room_made() noexcept {
    if (!is_open()) opens_at_ = 0;
  }
  /// True when it is time to open a gate that is shut; opens it.
  bool may_open(base::Millis now) noexcept {
    if (is_open() || now < opens_at_) return false;
    opens_at_ = kNever;
    return true;
  }
  /// When may_open() will be true at the latest; kNever for a gate that is open.
  base::Millis opens_at() const noexcept { return opens_at_; }

 private:
  base::Millis opens_at_ = kNever;
};

}  // namespace leantea::net

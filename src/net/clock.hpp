// Clock: the time for one loop, read once per turn.
//
// One thread. Costs one reading of the monotonic clock (no system call where the vDSO has it); the
// wall clock is read only when a second of it may have passed, so a step of the wall clock is seen
// within a second.
#pragma once

#include <cstdint>

#include "app/engine.hpp"

namespace leantea::net {

class Clock {
 public:
  /// What time it is now. `mono` never goes back from one call to the next.
  app::Now read() noexcept;

  /// The monotonic clock alone, for deadlines set from other threads. Any thread.
  static base::Millis monotonic_ms() noexcept;

 private:
  std::int64_t wall_due_ns_ = 0;  ///< monotonic time at which the wall clock is read again
  std::int64_t unix_seconds_ = 0;
};

}  // namespace leantea::net

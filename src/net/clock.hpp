// Clock: the time for one loop, read once per turn.
//
// One thread. Costs one reading of the monotonic clock (no system call where the vDSO has it); the
// wall clock is read only when a second of it may have passed, so a step of the wall clock is seen
// within a second.
#pragma once

#include <time.h>

#include <cstdint>

#include "app/engine.hpp"

namespace leantea::net {

class Clock {
 public:
  /// What time it is now. `mono` never goes back from one call to the next.
  app::Now read() noexcept {
    const std::int64_t now = monotonic_ns();
    if (now >= wall_due_ns_) [[unlikely]]
      read_wall(now);
    return {.mono = now / kNanosPerMilli, .unix_seconds = unix_seconds_};
  }

  /// The monotonic clock alone, for deadlines set from other threads. Any thread.
  static base::Millis monotonic_ms() noexcept { return monotonic_ns() / kNanosPerMilli; }

 private:
  static constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
  static constexpr std::int64_t kNanosPerMilli = 1'000'000;

  static std::int64_t monotonic_ns() noexcept {
    timespec at;  // filled in: this clock cannot fail
    clock_gettime(CLOCK_MONOTONIC, &at);
    return static_cast<std::int64_t>(at.tv_sec) * kNanosPerSecond + at.tv_nsec;
  }
  void read_wall(std::int64_t now) noexcept;

  std::int64_t wall_due_ns_ = 0;  ///< monotonic time at which the wall clock is read again
  std::int64_t unix_seconds_ = 0;
};

}  // namespace leantea::net

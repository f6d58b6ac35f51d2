#include "net/clock.hpp"

#include <time.h>

namespace leantea::net {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;
constexpr std::int64_t kNanosPerMilli = 1'000'000;

std::int64_t monotonic_ns() noexcept {
  timespec at{};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<std::int64_t>(at.tv_sec) * kNanosPerSecond + at.tv_nsec;
}

}  // namespace

app::Now Clock::read() noexcept {
  const std::int64_t now = monotonic_ns();
  if (now >= wall_due_ns_) {
    timespec wall{};
    clock_gettime(CLOCK_REALTIME, &wall);
    unix_seconds_ = wall.tv_sec;
    wall_due_ns_ = now + (kNanosPerSecond - wall.tv_nsec);
  }
  return {.mono = now / kNanosPerMilli, .unix_seconds = unix_seconds_};
}

base::Millis Clock::monotonic_ms() noexcept { return monotonic_ns() / kNanosPerMilli; }

}  // namespace leantea::net

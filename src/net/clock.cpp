#include "net/clock.hpp"

namespace leantea::net {

void Clock::read_wall(std::int64_t now) noexcept {
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  unix_seconds_ = wall.tv_sec;
  wall_due_ns_ = now + (kNanosPerSecond - wall.tv_nsec);
}

}  // namespace leantea::net

#include "progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace leantea::lab {

ProgressLine::ProgressLine(std::chrono::duration<double> expected)
    : expected_(expected), terminal_(::isatty(STDERR_FILENO) != 0) {}

void ProgressLine::show(std::string_view what) {
  if (!terminal_) return;
  fmt::print(stderr, "\r\033[K{}: {}", forecast(Clock::now() - start_, expected_), what);
}

void ProgressLine::clear() const {
  if (terminal_) fmt::print(stderr, "\r\033[K");
}

std::string ProgressLine::forecast(std::chrono::duration<double> elapsed,
                                   std::chrono::duration<double> expected) {
  constexpr double kMostShare = 0.99;  // it is done when it is done
  constexpr int kMinute = 60;
  const double share =
      expected.count() > 0 ? std::min(elapsed.count() / expected.count(), kMostShare) : kMostShare;
  const int left = std::max(1, static_cast<int>(std::lround((expected - elapsed).count())));
  const std::string time = left >= kMinute
                               ? fmt::format("{} min {} s", left / kMinute, left % kMinute)
                               : fmt::format("{} s", left);
  return fmt::format("{:3.0f} %, about {} left", share * 100, time);
}

}  // namespace leantea::lab

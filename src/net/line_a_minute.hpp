// LineAMinute: keeps a message that may come a thousand times a second to one line a minute.
//
// One object per message and server. Any thread.
#pragma once

#include <atomic>

#include "base/timer_wheel.hpp"

namespace leantea::net {

class LineAMinute {
 public:
  static constexpr base::Millis kEveryMs = 60'000;

  /// True when the line is to be written: for the first call, and then once in kEveryMs.
  bool due(base::Millis now) noexcept {
    base::Millis next = next_.load(std::memory_order_relaxed);
    if (now < next) return false;
    return next_.compare_exchange_strong(next, now + kEveryMs, std::memory_order_relaxed);
  }

 private:
  std::atomic<base::Millis> next_{0};
};

}  // namespace leantea::net

// DateCache: the `Date` field line of answers (RFC 9110 §6.6.1), made once per second.
//
// One thread. The view that line() returns has a fixed place; its bytes change at update().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace leantea::base {

/// Writes an IMF-fixdate (RFC 9110 §5.6.7), 29 bytes, e.g. "Sun, 06 Nov 1994 08:49:37 GMT". The form
/// has four digits for the year: a time outside of the years 0 to 9999 is written as the nearest inside.
/// Any thread.
void write_imf_fixdate(std::int64_t unix_seconds, char* out) noexcept;

class DateCache {
 public:
  static constexpr std::size_t kLineBytes = 37;  // "Date: " + 29 + CRLF

  /// Says what second it is (seconds since 1970, UTC). Cheap when it is the same one.
  void update(std::int64_t unix_seconds) noexcept {
    if (unix_seconds != second_) render(unix_seconds);
  }
  /// "Date: …\r\n". REQUIRES: update() was called.
  std::string_view line() const noexcept { return {line_.data(), kLineBytes}; }

 private:
  void render(std::int64_t unix_seconds) noexcept;

  std::int64_t second_ = std::numeric_limits<std::int64_t>::min();  ///< none yet
  std::array<char, kLineBytes + 3> line_{};
};

}  // namespace leantea::base

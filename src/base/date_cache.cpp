#include "base/date_cache.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"

namespace leantea::base {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr std::int64_t kFirstSecond = -62'167'219'200;  // 0000-01-01 00:00:00
constexpr std::int64_t kLastSecond = 253'402'300'799;   // 9999-12-31 23:59:59

struct Civil {
  unsigned year, month, day;  // month and day from 1
};

/// The date of a day of the Gregorian calendar, `days` counted from 0000-03-01. Years begin in March
/// here, so that the leap day is the last of its year, and months have a linear formula (Howard
/// Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days).
constexpr Civil civil_from_days(unsigned days) noexcept {
  const unsigned era = days / 146'097;  // 400 years
  const unsigned day_of_era = days % 146'097;
  const unsigned year_of_era =
      (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const unsigned day_of_year =
      day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const unsigned month = (5 * day_of_year + 2) / 153;  // 0 is March
  return {.year = 400 * era + year_of_era + (month >= 10 ? 1 : 0),
          .month = month < 10 ? month + 3 : month - 9,
          .day = day_of_year - (153 * month + 2) / 5 + 1};
}

constexpr void two_digits(unsigned value, char* out) noexcept {
  out[0] = static_cast<char>('0' + value / 10);
  out[1] = static_cast<char>('0' + value % 10);
}

}  // namespace

void write_imf_fixdate(std::int64_t unix_seconds, char* out) noexcept {
  // Counted from 0000-01-01, a Saturday, to have no negative numbers. The 60 days of January and
  // February belong to the year that began in March before it: one era of 400 years is added.
  const auto seconds = static_cast<std::uint64_t>(
      std::clamp(unix_seconds, kFirstSecond, kLastSecond) - kFirstSecond);
  const auto days = static_cast<unsigned>(seconds / kSecondsPerDay);
  const auto time = static_cast<unsigned>(seconds % kSecondsPerDay);
  const Civil date = civil_from_days(days + 146'097 - 60);
  const unsigned year = date.year - 400;

  static constexpr std::string_view kShape = "Sat, 00 Jan 0000 00:00:00 GMT";
  std::memcpy(out, kShape.data(), kShape.size());
  std::memcpy(out, &"SatSunMonTueWedThuFri"[3 * (days % 7)], 3);
  two_digits(date.day, out + 5);
  std::memcpy(out + 8, &"JanFebMarAprMayJunJulAugSepOctNovDec"[3 * (date.month - 1)], 3);
  two_digits(year / 100, out + 12);
  two_digits(year % 100, out + 14);
  two_digits(time / 3'600, out + 17);
  two_digits(time / 60 % 60, out + 20);
  two_digits(time % 60, out + 23);
}

void DateCache::render(std::int64_t unix_seconds) noexcept {
  static constexpr std::string_view kName = "Date: ";
  std::memcpy(line_.data(), kName.data(), kName.size());
  write_imf_fixdate(unix_seconds, line_.data() + kName.size());
  line_[kLineBytes - 2] = '\r';
  line_[kLineBytes - 1] = '\n';
  second_ = unix_seconds;
}

}  // namespace leantea::base

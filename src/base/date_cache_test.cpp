#include "base/date_cache.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <limits>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace leantea::base {
namespace {

std::string imf_fixdate(std::int64_t unix_seconds) {
  std::array<char, 30> out{};
  out.fill('~');
  write_imf_fixdate(unix_seconds, out.data());
  EXPECT_EQ(out[29], '~') << "wrote more than 29 bytes";
  return {out.data(), 29};
}

TEST(ImfFixdate, KnownDates) {
  EXPECT_EQ(imf_fixdate(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT");  // RFC 9110 §5.6.7
  EXPECT_EQ(imf_fixdate(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(imf_fixdate(-1), "Wed, 31 Dec 1969 23:59:59 GMT");
  EXPECT_EQ(imf_fixdate(951'782'400), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(imf_fixdate(951'868'800), "Wed, 01 Mar 2000 00:00:00 GMT");
  EXPECT_EQ(imf_fixdate(1'709'251'199), "Thu, 29 Feb 2024 23:59:59 GMT");
  EXPECT_EQ(imf_fixdate(4'107'542'399), "Sun, 28 Feb 2100 23:59:59 GMT");  // no leap year
  EXPECT_EQ(imf_fixdate(4'107'542'400), "Mon, 01 Mar 2100 00:00:00 GMT");
}

TEST(ImfFixdate, Past32Bits) {
  EXPECT_EQ(imf_fixdate(2'147'483'647), "Tue, 19 Jan 2038 03:14:07 GMT");
  EXPECT_EQ(imf_fixdate(2'147'483'648), "Tue, 19 Jan 2038 03:14:08 GMT");
  EXPECT_EQ(imf_fixdate(4'294'967'296), "Sun, 07 Feb 2106 06:28:16 GMT");
}

TEST(ImfFixdate, YearsThatHaveNoFourDigitsAreTheNearestThatHave) {
  EXPECT_EQ(imf_fixdate(253'402'300'799), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(imf_fixdate(253'402'300'800), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(imf_fixdate(std::numeric_limits<std::int64_t>::max()), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(imf_fixdate(-62'167'219'200), "Sat, 01 Jan 0000 00:00:00 GMT");
  EXPECT_EQ(imf_fixdate(std::numeric_limits<std::int64_t>::min()), "Sat, 01 Jan 0000 00:00:00 GMT");
}

std::string by_gmtime(std::int64_t unix_seconds) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t time = unix_seconds;
  std::tm tm{};
  gmtime_r(&time, &tm);
  std::array<char, 80> out{};
  std::snprintf(out.data(), out.size(), "%s, %02d %s %04d %02d:%02d:%02d GMT", kDays[tm.tm_wday],
                tm.tm_mday, kMonths[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
                tm.tm_sec);
  return out.data();
}

TEST(ImfFixdate, EqualsGmtimeOnEveryDay) {
  // Every day of 0000 to 9999 would be 3.6 million; 401 years see each kind of year and century.
  for (std::int64_t day = -200 * 366; day < 201 * 366; ++day)
    ASSERT_EQ(imf_fixdate(day * 86'400 + 45'296), by_gmtime(day * 86'400 + 45'296));
}

TEST(ImfFixdate, EqualsGmtimeAtRandomSeconds) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::int64_t> any(-62'167'219'200, 253'402'300'799);
  for (int i = 0; i < 200'000; ++i) {
    const std::int64_t second = any(random);
    ASSERT_EQ(imf_fixdate(second), by_gmtime(second)) << second;
  }
}

TEST(DateCache, HoldsTheLineOfTheSecond) {
  DateCache cache;
  for (const std::int64_t second : {784'111'777, 784'111'777, 784'111'778, -1, 0}) {
    cache.update(second);
    EXPECT_EQ(cache.line(), "Date: " + by_gmtime(second) + "\r\n");
  }
}

TEST(DateCache, LineStaysWhereItIs) {
  DateCache cache;
  cache.update(1);
  const std::string_view line = cache.line();
  cache.update(784'111'777);
  EXPECT_EQ(line, "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
}

}  // namespace
}  // namespace leantea::base

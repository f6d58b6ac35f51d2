// Limits: what is checked at start, and the sum that bounds a connection.
#include <limits>

#include <gtest/gtest.h>

#include <leantea/limits.hpp>

namespace leantea {
namespace {

std::string complaint(const Limits& limits) {
  const auto checked = limits.check();
  return checked ? "" : checked.error();
}

TEST(Limits, DefaultsAreGood) { EXPECT_EQ(complaint({}), ""); }

TEST(Limits, SayWhatToChange) {
  EXPECT_NE(complaint({.target_bytes = 0}), "");
  EXPECT_NE(complaint({.header_bytes = 0}), "");
  EXPECT_NE(complaint({.header_count = 0}), "");
  EXPECT_NE(complaint({.requests_in_progress = 0}), "");
  EXPECT_NE(complaint({.output_bytes = 0}), "");
  EXPECT_NE(complaint({.body_buffer_bytes = 0}), "");
  EXPECT_NE(complaint({.connections = 0}), "");
  EXPECT_EQ(complaint({.header_count = 257}), "Limits::header_count is 257: use 1 to 256");
  EXPECT_EQ(complaint({.idle_timeout = Limits::milliseconds(-1)}),
            "Limits::idle_timeout is -1 ms: a timeout is not negative; use 0 to turn it off");
}

TEST(Limits, KeepHeadsWithinTheirOffsets) {
  EXPECT_EQ(complaint({.target_bytes = 32'000, .header_bytes = 32'000}), "");
  EXPECT_NE(complaint({.target_bytes = 33'000, .header_bytes = 32'000}), "");
  EXPECT_NE(complaint({.target_bytes = 0xffff'ffff, .header_bytes = 0xffff'ffff}), "");
}

TEST(Limits, BoundAConnectionByTheirSum) {
  const Limits limits;
  const std::size_t bound = limits.connection_bound();
  EXPECT_GT(bound, limits.requests_in_progress * (limits.body_bytes + limits.header_bytes));
  EXPECT_LT(bound, (limits.requests_in_progress + 4) * limits.body_bytes + 2 * 1024 * 1024);
  const auto grows = [bound](const Limits& larger) { return larger.connection_bound() > bound; };
  EXPECT_TRUE(grows({.target_bytes = 8193}));
  EXPECT_TRUE(grows({.header_bytes = 16385}));
  EXPECT_TRUE(grows({.header_count = 101}));
  EXPECT_TRUE(grows({.leading_empty_lines = 9}));
  EXPECT_TRUE(grows({.body_bytes = 1024 * 1024 + 1}));
  EXPECT_TRUE(grows({.trailer_bytes = 4097}));
  EXPECT_TRUE(grows({.body_buffer_bytes = 64 * 1024 + 1}));
  EXPECT_TRUE(grows({.requests_in_progress = 17}));
  EXPECT_TRUE(grows({.output_bytes = 256 * 1024 + 1}));
}

TEST(Limits, WithoutABoundHaveTheLargestSum) {
  const Limits limits{.body_bytes = std::numeric_limits<std::uint64_t>::max()};
  EXPECT_EQ(limits.connection_bound(), std::numeric_limits<std::size_t>::max());
}

}  // namespace
}  // namespace leantea

#include "spread.hpp"

#include <gtest/gtest.h>

namespace leantea::lab {
namespace {

using namespace std::chrono_literals;

TEST(Spread, TheBusiestThreadIsTheOneWhoseTimeGrewMost) {
  const ThreadTimes before{{1, 100ns}, {2, 5000ns}};
  EXPECT_EQ(busiest(before, before), 0);
  EXPECT_EQ(busiest(before, {{1, 900ns}, {2, 5100ns}}), 1);
  EXPECT_EQ(busiest(before, {{1, 100ns}, {2, 5001ns}}), 2);
  EXPECT_EQ(busiest(before, {{1, 100ns}, {2, 5000ns}, {3, 10ns}}), 3) << "a thread that came new";
}

TEST(Spread, UnevennessIsTheLargestDistanceFromTheEqualShare) {
  EXPECT_DOUBLE_EQ(unevenness({64, 64}, 2), 0);
  EXPECT_DOUBLE_EQ(unevenness({60, 68}, 2), 4.0 / 64);
  EXPECT_DOUBLE_EQ(unevenness({50, 100, 150}, 3), 0.5);
  EXPECT_DOUBLE_EQ(unevenness({128}, 2), 1) << "one loop has all, the other none";
  EXPECT_DOUBLE_EQ(unevenness({}, 2), 0);
}

}  // namespace
}  // namespace leantea::lab

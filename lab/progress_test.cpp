#include "progress.hpp"

#include <gtest/gtest.h>

namespace leantea::lab {
namespace {

using std::chrono::duration;

TEST(ProgressLine, SaysHowFarItIsAndHowLongItTakes) {
  const auto forecast = [](double elapsed, double expected) {
    return ProgressLine::forecast(duration<double>(elapsed), duration<double>(expected));
  };
  EXPECT_EQ(forecast(0, 190), "  0 %, about 3 min 10 s left");
  EXPECT_EQ(forecast(60, 120), " 50 %, about 1 min 0 s left");
  EXPECT_EQ(forecast(100, 120), " 83 %, about 20 s left");
}

TEST(ProgressLine, IsNeverDoneBeforeTheEnd) {
  EXPECT_EQ(ProgressLine::forecast(duration<double>(200), duration<double>(120)),
            " 99 %, about 1 s left");
}

}  // namespace
}  // namespace leantea::lab

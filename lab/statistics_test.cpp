#include "statistics.hpp"

#include <gtest/gtest.h>

namespace leantea::lab {
namespace {

TEST(Median, IsTheMiddleValueOrTheMeanOfTheTwoInTheMiddle) {
  EXPECT_DOUBLE_EQ(median({3}), 3);
  EXPECT_DOUBLE_EQ(median({9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_THROW(median({}), std::logic_error);
}

TEST(Summarize, LeavesVoidRoundsOut) {
  const Values values{5.0, std::nullopt, 1.0, 3.0};
  const auto summary = summarize(values);
  ASSERT_TRUE(summary);
  EXPECT_DOUBLE_EQ(summary->median, 3);
  EXPECT_DOUBLE_EQ(summary->min, 1);
  EXPECT_DOUBLE_EQ(summary->max, 5);
  EXPECT_EQ(summary->count, 3U);
}

TEST(Summarize, OfNothingIsNothing) {
  EXPECT_FALSE(summarize(Values{}));
  EXPECT_FALSE(summarize(Values{std::nullopt}));
}

TEST(Summarize, OneDisturbedRoundMovesTheRobustSpreadLittle) {
  const auto calm = summarize(Values{10.0, 11.0, 12.0, 13.0, 14.0});
  const auto disturbed = summarize(Values{10.0, 11.0, 12.0, 13.0, 140.0});
  EXPECT_DOUBLE_EQ(calm->deviation, 1.4826);
  EXPECT_DOUBLE_EQ(disturbed->deviation, 1.4826);
  EXPECT_DOUBLE_EQ(disturbed->max, 140);
}

TEST(PairedRatios, AreTakenWithinARound) {
  // The second round ran on a machine of half the speed: both took twice as long, the ratio is the same.
  const Values a{2.0, 4.0, std::nullopt, 1.0};
  const Values b{4.0, 8.0, 1.0, 0.0};
  const Values ratios = paired_ratios(a, b);
  ASSERT_EQ(ratios.size(), 4U);
  EXPECT_DOUBLE_EQ(ratios[0].value(), 0.5);
  EXPECT_DOUBLE_EQ(ratios[1].value(), 0.5);
  EXPECT_FALSE(ratios[2]);
  EXPECT_FALSE(ratios[3]);
}

}  // namespace
}  // namespace leantea::lab

#include "statistics.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace leantea::lab {
namespace {

TEST(Median, IsTheMiddleValue) {
  EXPECT_DOUBLE_EQ(median({3}), 3);
  EXPECT_DOUBLE_EQ(median({9, 1, 5}), 5);
  EXPECT_DOUBLE_EQ(median({4, 1, 9, 5}), 4.5);
}

TEST(Interval, HoldsTheMedianAndIsTheSameEachTime) {
  const Values values{1.00, 1.02, 0.99, std::nullopt, 1.01, 1.03, 0.98, 1.00};
  const auto interval = interval_of(values);
  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->count, 7U);
  EXPECT_DOUBLE_EQ(interval->median, 1.00);
  EXPECT_LE(interval->low, interval->median);
  EXPECT_GE(interval->high, interval->median);
  EXPECT_GE(interval->low, 0.98);
  EXPECT_LE(interval->high, 1.03);
  const auto again = interval_of(values);
  EXPECT_EQ(interval->low, again->low);
  EXPECT_EQ(interval->high, again->high);
}

TEST(Interval, OfNothingIsNothing) {
  EXPECT_FALSE(interval_of(Values{}));
  EXPECT_FALSE(interval_of(Values{std::nullopt}));
}

TEST(Interval, OfTooFewValuesIsTheirRangeAndNotReliable) {
  const auto interval = interval_of(Values{1.0, 3.0, 2.0});
  ASSERT_TRUE(interval);
  EXPECT_FALSE(interval->reliable());
  EXPECT_DOUBLE_EQ(interval->low, 1);
  EXPECT_DOUBLE_EQ(interval->high, 3);
}

// Normal noise around a known middle: the interval must hold it about as often as it says, and one disturbed block of
// ten must not spoil that.
TEST(Interval, HoldsTheTruthAsOftenAsItSays) {
  constexpr int kTries = 300;
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(1.0, 0.01);
  int held = 0;
  for (int i = 0; i < kTries; ++i) {
    Values values;
    for (int block = 0; block < 10; ++block) values.emplace_back(noise(random));
    values[3] = *values[3] + (i % 2 == 0 ? 0.10 : 0.0);
    const auto interval = interval_of(values);
    held += interval->low <= 1.0 && interval->high >= 1.0 ? 1 : 0;
  }
  EXPECT_GE(held, kTries * 91 / 100);
}

TEST(PairedRatios, AreTakenBlockByBlock) {
  const Values ratios =
      paired_ratios(Values{2.0, std::nullopt, 6.0, 1.0}, Values{4.0, 1.0, 3.0, 0.0});
  ASSERT_EQ(ratios.size(), 4U);
  EXPECT_DOUBLE_EQ(*ratios[0], 0.5);
  EXPECT_FALSE(ratios[1]);
  EXPECT_DOUBLE_EQ(*ratios[2], 2);
  EXPECT_FALSE(ratios[3]) << "nothing can be said in relation to nothing";
}

TEST(IntervalOfRatios, SaysTheSameWhicheverIsDividedByTheOther) {
  const Values a{1.0, 1.1, 0.9, 1.2, 1.0, 1.05, 0.95, 1.15};
  const Values b{1.0, 1.0, 1.0, 1.0, 1.1, 1.00, 1.00, 1.00};
  const auto there = interval_of_ratios(paired_ratios(a, b));
  const auto back = interval_of_ratios(paired_ratios(b, a));
  EXPECT_NEAR(there->median, 1 / back->median, 1e-12);
  // The two tails of the same draws, so equal but for the draws that lie on the edge.
  EXPECT_NEAR(there->low, 1 / back->high, 0.01);
}

Interval interval(double low, double high, std::size_t count = 10) {
  return {.median = (low + high) / 2, .low = low, .high = high, .count = count};
}

TEST(Judge, SaysFasterOrSlowerOnlyWhenTheWholeIntervalDoes) {
  EXPECT_EQ(judge(interval(0.90, 0.95), true), Verdict::kFaster);
  EXPECT_EQ(judge(interval(0.90, 0.95), false), Verdict::kSlower);
  EXPECT_EQ(judge(interval(1.01, 1.05), true), Verdict::kSlower);
  EXPECT_EQ(judge(interval(1.01, 1.05), false), Verdict::kFaster);
  EXPECT_EQ(judge(interval(0.95, 1.01), true), Verdict::kInconclusive);
}

TEST(Judge, CallsWhatLiesWithinTheMarginEquivalent) {
  EXPECT_EQ(judge(interval(0.99, 1.01), true), Verdict::kEquivalent);
  EXPECT_EQ(judge(interval(1.005, 1.015), true), Verdict::kEquivalent)
      << "a difference, but none that matters";
  EXPECT_EQ(judge(interval(0.97, 1.03), true), Verdict::kInconclusive);
}

TEST(Judge, DoesNotJudgeFromTooFewBlocks) {
  EXPECT_EQ(judge(interval(0.5, 0.6, kLeastForInterval - 1), true), Verdict::kInconclusive);
}

}  // namespace
}  // namespace leantea::lab

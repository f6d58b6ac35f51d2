#include "change_points.hpp"

#include <cmath>
#include <cstdio>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace leantea::lab {
namespace {

/// How recorded ratios scatter from run to run, as parts of their level.
struct Noise {
  double deviation = 0.01;
  double outliers = 0.03;        ///< the part of the runs that another program disturbed …
  double outlier_deviation = 4;  ///< … which scatter by this many deviations more
  double wandering = 0.0003;     ///< of the level, per run: a random walk
  double swing = 0.003;          ///< of the level, up and down once in 60 runs
};

constexpr Noise kQuiet{.deviation = 0.01};
constexpr Noise kUsual{.deviation = 0.0125};
constexpr Noise kLoud{.deviation = 0.015};

/// Series of ratios that are the same each time the tests run.
class Ratios {
 public:
  explicit Ratios(const Noise& noise) : noise_(noise) {}

  /// `count` runs; from run `at` on, the level is lower by the part `step`.
  std::vector<double> series(int count, int at = 0, double step = 0) {
    std::vector<double> values;
    const double phase = 2 * M_PI * uniform_(random_);
    double level = 0;
    for (int run = 0; run < count; ++run) {
      level += noise_.wandering * normal_(random_);
      double value = level + noise_.swing * std::sin(phase + 2 * M_PI * run / 60);
      value += noise_.deviation * normal_(random_);
      if (uniform_(random_) < noise_.outliers)
        value += noise_.outlier_deviation * noise_.deviation * normal_(random_);
      if (run >= at) value += std::log1p(-step);
      values.push_back(1.04 * std::exp(value));
    }
    return values;
  }

 private:
  Noise noise_;
  std::mt19937_64 random_{20261201};
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
};

/// What `check` does after a run: it alarms when the newest change is one to the worse and at most ten runs old.
bool alarms(std::span<const double> values) {
  const std::vector<ChangePoint> changes = change_points(values);
  return !changes.empty() && changes.back().ratio < 1 && values.size() - changes.back().index <= 10;
}

// ---- What it says of one series -------------------------------------------------------------------------------------

TEST(ChangePoints, SayWhereTheLevelChangedAndByHowMuch) {
  const std::vector<double> values = Ratios(kUsual).series(60, 40, 0.05);
  const std::vector<ChangePoint> changes = change_points(values);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_NEAR(static_cast<double>(changes[0].index), 40, 1);
  EXPECT_LT(changes[0].low, 0.95);
  EXPECT_GT(changes[0].high, 0.95);
  EXPECT_NEAR(changes[0].ratio, 0.95, 0.01);
  EXPECT_LE(changes[0].chance, 0.003);
}

TEST(ChangePoints, AreFoundOneByOneInBothDirections) {
  std::vector<double> values;
  for (const double level : {1.0, 1.1, 1.05}) {
    for (int i = 0; i < 20; ++i) values.push_back(level + 0.001 * (i % 5));
  }
  const std::vector<ChangePoint> changes = change_points(values);
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].index, 20U);
  EXPECT_NEAR(changes[0].ratio, 1.1, 0.002);
  EXPECT_EQ(changes[1].index, 40U);
  EXPECT_NEAR(changes[1].ratio, 1.05 / 1.1, 0.002);
}

TEST(ChangePoints, AreTheSameEachTime) {
  const std::vector<double> values = Ratios(kLoud).series(200, 100, 0.03);
  const std::vector<ChangePoint> once = change_points(values);
  const std::vector<ChangePoint> again = change_points(values);
  ASSERT_EQ(once.size(), again.size());
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].index, again[i].index);
    EXPECT_EQ(once[i].chance, again[i].chance);
  }
}

TEST(ChangePoints, AreNotMadeByAFewWildRuns) {
  std::vector<double> values = Ratios(kQuiet).series(60);
  values[20] = 1.6;
  values[41] = 0.5;
  values[59] = 0.7;
  EXPECT_TRUE(change_points(values).empty());
}

TEST(ChangePoints, AreNoneInASlowDriftOfLessThanMatters) {
  std::vector<double> values;
  for (int i = 0; i < 100; ++i) values.push_back(1 + 0.0001 * i + 0.001 * (i % 3));
  EXPECT_TRUE(change_points(values).empty());
}

TEST(ChangePoints, AreNoneWhereThereIsNothingToCompare) {
  EXPECT_TRUE(change_points({}).empty());
  EXPECT_TRUE(change_points(std::vector<double>(100, 1.0)).empty());
  // One that is plain to see, but in too few runs to be told from chance.
  EXPECT_TRUE(change_points(std::vector<double>{1, 1, 1, 1, 2, 2, 2, 2}).empty());
  EXPECT_THROW(change_points(std::vector<double>{1, 0, 1}), std::logic_error);
}

TEST(ChangePoints, NeedAsManyRunsAsFewestValuesSays) {
  const std::size_t fewest = fewest_values({});
  EXPECT_EQ(fewest, 13U);
  std::vector<double> values(fewest, 1.0);
  for (std::size_t i = 0; i < fewest; ++i)
    values[i] = (i < fewest / 2 ? 1.0 : 0.9) + 0.0001 * static_cast<double>(i);
  EXPECT_EQ(change_points(values).size(), 1U);
  values.resize(8);
  EXPECT_TRUE(change_points(values).empty());
}

TEST(ChangePoints, ManyRunsTakeNoLongTime) {
  const std::vector<double> values = Ratios(kQuiet).series(3000, 1500, 0.1);
  const std::vector<ChangePoint> changes = change_points(values);
  EXPECT_FALSE(changes.empty());
}

// ---- How often it is right ------------------------------------------------------------------------------------------

constexpr int kSeries = 200;
constexpr int kRuns = 60;

/// Of kSeries series with a step, the part in which it is found within ten runs, one look after each run.
double found_within_ten(const Noise& noise, double step, int before = 50) {
  Ratios ratios(noise);
  int found = 0;
  for (int i = 0; i < kSeries; ++i) {
    const std::vector<double> values = ratios.series(before + 10, before, step);
    bool alarm = false;
    for (std::size_t size = values.size() - 9; size <= values.size() && !alarm; ++size)
      alarm = alarms(std::span(values).first(size));
    found += alarm ? 1 : 0;
  }
  return static_cast<double>(found) / kSeries;
}

struct FalseAlarms {
  double after_the_last = 0;  ///< the part of series in which the look after the last run alarms
  double of_all_looks = 0;    ///< the part of looks that alarm, one look after each run
  double of_series = 0;       ///< the part of series in which any look alarms
};

FalseAlarms false_alarms(const Noise& noise) {
  Ratios ratios(noise);
  FalseAlarms counts;
  for (int i = 0; i < kSeries; ++i) {
    const std::vector<double> values = ratios.series(kRuns);
    int here = 0;
    for (std::size_t size = 1; size <= values.size(); ++size) {
      const bool alarm = alarms(std::span(values).first(size));
      here += alarm ? 1 : 0;
      if (size == values.size()) counts.after_the_last += alarm ? 1 : 0;
    }
    counts.of_all_looks += here;
    counts.of_series += here > 0 ? 1 : 0;
  }
  return {.after_the_last = counts.after_the_last / kSeries,
          .of_all_looks = counts.of_all_looks / (kSeries * kRuns),
          .of_series = counts.of_series / kSeries};
}

void print_figure(const std::string& what, const Noise& noise, double part) {
  std::printf("  noise %.2f %%: %s %.1f %%\n", 100 * noise.deviation, what.c_str(), 100 * part);
}

TEST(Detection, FindsAStepOfThreePercentWithinTenRuns) {
  const double quiet = found_within_ten(kQuiet, 0.03);
  print_figure("3 % step found within 10 runs", kQuiet, quiet);
  EXPECT_GE(quiet, 0.98);
  const double usual = found_within_ten(kUsual, 0.03);
  print_figure("3 % step found within 10 runs", kUsual, usual);
  EXPECT_GE(usual, 0.94);
  const double loud = found_within_ten(kLoud, 0.03);
  print_figure("3 % step found within 10 runs", kLoud, loud);
  EXPECT_GE(loud, 0.8);
}

TEST(Detection, FindsAStepOfFivePercentInLoudNoiseAndInAShortHistory) {
  const double found = found_within_ten(kLoud, 0.05, 20);
  print_figure("5 % step after 20 runs found within 10", kLoud, found);
  EXPECT_GE(found, 0.98);
}

TEST(Detection, SeldomAlarmsWithoutAReason) {
  for (const Noise& noise : {kQuiet, kUsual, kLoud}) {
    const FalseAlarms alarms = false_alarms(noise);
    print_figure("false alarm after the last of 60 runs", noise, alarms.after_the_last);
    print_figure("false alarms, of all looks", noise, alarms.of_all_looks);
    print_figure("false alarm in any of 60 looks at a series", noise, alarms.of_series);
    EXPECT_LT(alarms.after_the_last, 0.05);
    EXPECT_LT(alarms.of_all_looks, 0.005);
    EXPECT_LT(alarms.of_series, 0.05);
  }
}

}  // namespace
}  // namespace leantea::lab

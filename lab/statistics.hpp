// Figures over rounds. A round that is void is an empty value and counts nowhere. Pure, any thread.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace leantea::lab {

using Values = std::vector<std::optional<double>>;

/// What the rounds say together.
struct Summary {
  double median = 0;
  double min = 0;
  double max = 0;
  /// The robust spread: median absolute deviation × 1.4826, which for normally distributed values is their standard
  /// deviation. One disturbed round moves it little.
  double deviation = 0;
  std::size_t count = 0;
};

/// The middle value; the mean of the two middle ones for an even number. REQUIRES: values is not empty.
double median(std::vector<double> values);

/// Nothing when no round counts.
std::optional<Summary> summarize(std::span<const std::optional<double>> values);

/// a/b, round by round; empty where one of them is. Both ran in the same round, seconds apart, so what the
/// machine did in that round is in both and cancels out: the median of these ratios is steadier than the ratio
/// of two medians.
Values paired_ratios(std::span<const std::optional<double>> a,
                     std::span<const std::optional<double>> b);

}  // namespace leantea::lab

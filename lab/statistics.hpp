// Figures over blocks. A block that is void is an empty value and counts nowhere. Pure, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace leantea::lab {

using Values = std::vector<std::optional<double>>;

/// The least number of values from which an interval can hold a median with 95 %: of five values all lie on the same
/// side of it in 6 % of the cases.
inline constexpr std::size_t kLeastForInterval = 6;

inline constexpr double kConfidence = 0.95;

/// A difference within this, up or down, is none that matters.
inline constexpr double kMargin = 0.02;

/// What the blocks say together: the median, and an interval that holds the true one with the wanted confidence.
struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
  std::size_t count = 0;

  /// False for too few values: then low and high are only the smallest and the largest.
  bool reliable() const { return count >= kLeastForInterval; }
};

/// The middle value; the mean of the two middle ones for an even number. REQUIRES: values is not empty.
double median(std::vector<double> values);

/// The median, with an interval by the percentile bootstrap (Efron & Tibshirani, An Introduction to the Bootstrap,
/// 1993, ch. 13): the values are drawn again 10,000 times, always by the same random numbers, so the same values give
/// the same interval. Nothing when no block counts.
std::optional<Interval> interval_of(std::span<const std::optional<double>> values,
                                    double confidence = kConfidence);

/// a/b, block by block; empty where one of them is. Both ran in the same block, seconds apart, so what the machine did
/// then is in both and cancels out: the median of these ratios is steadier than the ratio of two medians.
Values paired_ratios(std::span<const std::optional<double>> a,
                     std::span<const std::optional<double>> b);

/// interval_of over the logarithms of ratios, so that a/b and b/a say the same.
std::optional<Interval> interval_of_ratios(std::span<const std::optional<double>> ratios,
                                           double confidence = kConfidence);

enum class Verdict {
  kFaster,        ///< the whole interval is on the better side of 1
  kSlower,        ///< the whole interval is on the worse side of 1
  kEquivalent,    ///< the whole interval is within ±kMargin of 1, on whatever side
  kInconclusive,  ///< none of them: more blocks are needed, or a calmer machine
};

/// `faster`, `slower`, `equivalent`, `inconclusive`.
std::string_view name_of(Verdict verdict);

/// What a ratio to another server says. `less_is_better`: processor time and latencies, not requests/s.
Verdict judge(const Interval& ratio, bool less_is_better);

}  // namespace leantea::lab

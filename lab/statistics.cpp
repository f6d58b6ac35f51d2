#include "statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <stdexcept>

namespace leantea::lab {
namespace {

constexpr int kResamples = 10'000;
constexpr std::uint64_t kSeed = 20240501;

std::vector<double> present(std::span<const std::optional<double>> values) {
  std::vector<double> all;
  for (const auto& value : values) {
    if (value) all.push_back(*value);
  }
  return all;
}

/// A random index below `bound`. The standard's distributions differ between libraries; this does not.
std::size_t below(std::mt19937_64& random, std::size_t bound) {
  return static_cast<std::size_t>(random() % bound);
}

/// The medians of the resamples, sorted.
std::vector<double> resampled_medians(const std::vector<double>& values) {
  std::mt19937_64 random(kSeed);
  std::vector<double> medians(kResamples);
  std::vector<double> drawn(values.size());
  for (double& each : medians) {
    for (double& value : drawn) value = values[below(random, values.size())];
    each = median(drawn);
  }
  std::ranges::sort(medians);
  return medians;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) throw std::logic_error("the median of nothing");
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::optional<Interval> interval_of(std::span<const std::optional<double>> values,
                                    double confidence) {
  const std::vector<double> all = present(values);
  if (all.empty()) return std::nullopt;
  Interval interval{.median = median(all), .low = 0, .high = 0, .count = all.size()};
  if (!interval.reliable()) {
    const auto [low, high] = std::ranges::minmax(all);
    interval.low = low;
    interval.high = high;
    return interval;
  }
  const std::vector<double> medians = resampled_medians(all);
  const auto outside = static_cast<std::size_t>(std::floor((1 - confidence) / 2 * kResamples));
  interval.low = medians[outside];
  interval.high = medians[kResamples - 1 - outside];
  return interval;
}

Values paired_ratios(std::span<const std::optional<double>> a,
                     std::span<const std::optional<double>> b) {
  Values ratios(std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    if (a[i] && b[i] && *a[i] > 0 && *b[i] > 0) ratios[i] = *a[i] / *b[i];
  }
  return ratios;
}

std::optional<Interval> interval_of_ratios(std::span<const std::optional<double>> ratios,
                                           double confidence) {
  Values logarithms;
  for (const auto& ratio : ratios)
    logarithms.push_back(ratio ? std::optional(std::log(*ratio)) : std::nullopt);
  auto interval = interval_of(logarithms, confidence);
  if (!interval) return interval;
  interval->median = std::exp(interval->median);
  interval->low = std::exp(interval->low);
  interval->high = std::exp(interval->high);
  return interval;
}

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kNames = {"faster", "slower", "equivalent",
                                                      "inconclusive"};
  return kNames[static_cast<std::size_t>(verdict)];
}

Verdict judge(const Interval& ratio, bool less_is_better) {
  if (!ratio.reliable()) return Verdict::kInconclusive;
  if (ratio.low >= 1 - kMargin && ratio.high <= 1 + kMargin) return Verdict::kEquivalent;
  if (ratio.high < 1) return less_is_better ? Verdict::kFaster : Verdict::kSlower;
  if (ratio.low > 1) return less_is_better ? Verdict::kSlower : Verdict::kFaster;
  return Verdict::kInconclusive;
}

}  // namespace leantea::lab

#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace leantea::lab {
namespace {

constexpr double kDeviationOfNormal = 1.4826;

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) throw std::logic_error("the median of nothing");
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::optional<Summary> summarize(std::span<const std::optional<double>> values) {
  std::vector<double> present;
  for (const auto& value : values) {
    if (value) present.push_back(*value);
  }
  if (present.empty()) return std::nullopt;
  const double middle = median(present);
  std::vector<double> distances;
  for (const double value : present) distances.push_back(std::abs(value - middle));
  const auto [min, max] = std::ranges::minmax(present);
  return Summary{.median = middle,
                 .min = min,
                 .max = max,
                 .deviation = kDeviationOfNormal * median(distances),
                 .count = present.size()};
}

Values paired_ratios(std::span<const std::optional<double>> a,
                     std::span<const std::optional<double>> b) {
  Values ratios(std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    if (a[i] && b[i] && *b[i] != 0) ratios[i] = *a[i] / *b[i];
  }
  return ratios;
}

}  // namespace leantea::lab

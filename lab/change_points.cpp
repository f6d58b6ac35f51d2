#include "change_points.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>

#include "statistics.hpp"

namespace leantea::lab {
namespace {

// Times 1/significance: so many random orders. With fewer the chance of a border would be too coarse to be compared.
constexpr double kOrdersPerSignificance = 5;
constexpr double kNormal95 = 1.96;

/// Small and the same everywhere, which std::shuffle is not. (SplitMix64, Steele et al. 2014.)
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// Below `bound`, evenly but for a part of bound/2^32.
  std::size_t below(std::size_t bound) {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    mixed ^= mixed >> 31U;
    return static_cast<std::size_t>(((mixed >> 32U) * bound) >> 32U);
  }

  void shuffle(std::vector<std::size_t>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  std::uint64_t state_;
};

/// How many of the values put in are at most a given one, and their sum: a Fenwick tree over ranks.
class PrefixSums {
 public:
  explicit PrefixSums(std::size_t size) : counts_(size + 1), sums_(size + 1) {}

  void clear() {
    std::ranges::fill(counts_, 0.0);
    std::ranges::fill(sums_, 0.0);
  }
  void put(std::size_t rank, double value) {
    for (std::size_t i = rank + 1; i < sums_.size(); i += i & -i) {
      counts_[i] += 1;
      sums_[i] += value;
    }
  }
  /// Of ranks below `rank`.
  std::pair<double, double> count_and_sum(std::size_t rank) const {
    double count = 0;
    double sum = 0;
    for (std::size_t i = rank; i > 0; i -= i & -i) {
      count += counts_[i];
      sum += sums_[i];
    }
    return {count, sum};
  }

 private:
  std::vector<double> counts_;
  std::vector<double> sums_;
};

struct Split {
  std::size_t index = 0;
  double energy = 0;
};

/// Finds the best split of values, in the order given and in others. The values are known by their ranks; all distances
/// that do not depend on the order are computed once.
class Splitter {
 public:
  Splitter(std::span<const double> values, std::size_t fewest)
      : sorted_(values.begin(), values.end()), fewest_(fewest), left_(values.size()) {
    std::vector<std::size_t> by_value(values.size());
    for (std::size_t i = 0; i < by_value.size(); ++i) by_value[i] = i;
    std::ranges::sort(by_value, {}, [&](std::size_t i) { return std::pair{values[i], i}; });
    std::ranges::sort(sorted_);
    order_.resize(values.size());
    for (std::size_t rank = 0; rank < by_value.size(); ++rank) order_[by_value[rank]] = rank;
    distances_.resize(values.size());
    const double all = std::accumulate(sorted_.begin(), sorted_.end(), 0.0);
    double below = 0;
    for (std::size_t rank = 0; rank < sorted_.size(); ++rank) {
      distances_[rank] = distance(sorted_[rank], static_cast<double>(rank), below,
                                  static_cast<double>(sorted_.size()), all);
      below += sorted_[rank];
    }
    pairs_ = std::accumulate(distances_.begin(), distances_.end(), 0.0) / 2;
  }

  const std::vector<std::size_t>& order() const { return order_; }

  /// The split with the greatest weighted energy distance. Values go from right to left one by one, and the sums of
  /// distances within the sides and between them follow.
  Split best(const std::vector<std::size_t>& order) {
    left_.clear();
    const std::size_t size = order.size();
    double sum_left = 0;
    double within_left = 0;
    double within_right = pairs_;
    Split best;
    for (std::size_t i = 0; i + fewest_ < size; ++i) {
      const std::size_t rank = order[i];
      const double value = sorted_[rank];
      const auto [below, sum_below] = left_.count_and_sum(rank);
      const double to_left = distance(value, below, sum_below, static_cast<double>(i), sum_left);
      within_left += to_left;
      within_right -= distances_[rank] - to_left;
      left_.put(rank, value);
      sum_left += value;
      if (i + 1 < fewest_) continue;
      const double energy = weighted_energy(
          static_cast<double>(i + 1), static_cast<double>(size - i - 1), within_left, within_right);
      if (energy > best.energy) best = {.index = i + 1, .energy = energy};
    }
    return best;
  }

 private:
  /// The sum of distances from `value` to `count` values of the sum `sum`, of which `below` with the sum `sum_below`
  /// are not greater.
  static double distance(double value, double below, double sum_below, double count, double sum) {
    return (value * below - sum_below) + ((sum - sum_below) - value * (count - below));
  }

  /// n·m/(n+m) × (2·mean distance between the sides − mean distance within each).
  double weighted_energy(double n, double m, double within_left, double within_right) const {
    const double between = pairs_ - within_left - within_right;
    const double energy =
        2 * between / (n * m) - within_left / (n * (n - 1) / 2) - within_right / (m * (m - 1) / 2);
    return n * m / (n + m) * energy;
  }

  std::vector<double> sorted_;
  std::size_t fewest_;
  std::vector<std::size_t> order_;  // the ranks of the values, in the order given
  std::vector<double> distances_;   // from each value, by rank, to all others
  double pairs_ = 0;                // sum of the distances of all pairs
  PrefixSums left_;
};

/// The part of random orders whose best split is as good as `energy`. Known well only where it is small: the search
/// ends as soon as it cannot be significant any more, which for noise is after a few orders.
double chance_of(Splitter& splitter, double energy, const ChangePointOptions& options) {
  const double orders = std::ceil(kOrdersPerSignificance / options.significance);
  Random random(options.seed);
  std::vector<std::size_t> order = splitter.order();
  double doubts = 1;  // the order that was given is one of them
  for (int tried = 1; tried <= orders; ++tried) {
    random.shuffle(order);
    if (splitter.best(order).energy >= energy) ++doubts;
    if (doubts > options.significance * (orders + 1)) return doubts / (tried + 1);
  }
  return doubts / (orders + 1);
}

struct Border {
  std::size_t index = 0;
  double chance = 0;
};

/// The borders between begin and end, in order.
void find_borders(std::span<const double> logs, std::size_t begin, std::size_t end,
                  const ChangePointOptions& options, std::vector<Border>& borders) {
  if (end - begin < 2 * options.fewest) return;
  Splitter splitter(logs.subspan(begin, end - begin), options.fewest);
  const Split split = splitter.best(splitter.order());
  if (split.energy <= 0) return;
  const double chance = chance_of(splitter, split.energy, options);
  if (chance > options.significance) return;
  const std::size_t border = begin + split.index;
  find_borders(logs, begin, border, options, borders);
  borders.push_back({.index = border, .chance = chance});
  find_borders(logs, border, end, options, borders);
}

/// The change at a border between the stretches beside it.
ChangePoint change_at(std::span<const double> logs, std::size_t begin, const Border& border,
                      std::size_t end, std::size_t reach) {
  const std::size_t from = border.index - std::min(reach, border.index - begin);
  const std::size_t to = border.index + std::min(reach, end - border.index);
  std::vector<double> differences;
  for (std::size_t i = from; i < border.index; ++i) {
    for (std::size_t j = border.index; j < to; ++j) differences.push_back(logs[j] - logs[i]);
  }
  std::ranges::sort(differences);
  const auto n = static_cast<double>(border.index - from);
  const auto m = static_cast<double>(to - border.index);
  // The rank of the interval's lower end, by the normal approximation of Wilcoxon's statistic.
  const double rank = n * m / 2 - kNormal95 * std::sqrt(n * m * (n + m + 1) / 12);
  const auto lower = static_cast<std::size_t>(std::max(0.0, std::floor(rank)));
  return {.index = border.index,
          .ratio = std::exp(median(differences)),
          .low = std::exp(differences[lower]),
          .high = std::exp(differences[differences.size() - 1 - lower]),
          .chance = border.chance};
}

}  // namespace

std::vector<ChangePoint> change_points(std::span<const double> values,
                                       const ChangePointOptions& options) {
  std::vector<double> logs;
  for (const double value : values) {
    if (!(value > 0)) throw std::logic_error("change points are of values greater than 0");
    logs.push_back(std::log(value));
  }
  std::vector<Border> borders;
  find_borders(logs, 0, logs.size(), options, borders);
  for (;;) {
    std::vector<ChangePoint> changes;
    for (std::size_t i = 0; i < borders.size(); ++i) {
      const std::size_t begin = i == 0 ? 0 : borders[i - 1].index;
      const std::size_t end = i + 1 == borders.size() ? logs.size() : borders[i + 1].index;
      changes.push_back(change_at(logs, begin, borders[i], end, options.reach));
    }
    const auto size = [](const ChangePoint& change) { return std::abs(std::log(change.ratio)); };
    const auto smallest = std::ranges::min_element(changes, {}, size);
    if (smallest == changes.end() || size(*smallest) >= std::log1p(options.smallest_change)) {
      return changes;
    }
    borders.erase(borders.begin() + (smallest - changes.begin()));
  }
}

std::size_t fewest_values(const ChangePointOptions& options) {
  // When all n values before a border in the middle are smaller than those after it, so are they, one way or the other,
  // in 2 of C(n, n/2) orders. Twice as many orders make it sure that their part is found to be small.
  std::size_t size = 2 * options.fewest;
  const auto ways = [](std::size_t n) {
    double result = 1;
    for (std::size_t i = 0; i < n / 2; ++i)
      result *= static_cast<double>(n - i) / static_cast<double>(i + 1);
    return result;
  };
  while (ways(size) * options.significance < 4) ++size;
  return size;
}

}  // namespace leantea::lab

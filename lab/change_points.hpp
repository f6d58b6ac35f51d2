// Where a series of figures changed its level for good, and by how much: how `check` and the page tell a change from
// noise. Pure and deterministic, any thread.
//
// The method is E-divisive (Matteson and James, "A nonparametric approach for multiple change point analysis of
// multivariate data", JASA 109, 2014), in the shape that performance tests use it (Fleming et al., "Hunter: Using
// change point detection to hunt for performance regressions", ICPE 2023):
//
//   1. On logarithms, so that a change is a ratio.
//   2. The best place for a change in a stretch is where the energy distance between what is before and after it,
//      weighted by n·m/(n+m), is greatest.
//   3. It is real when few random orders of the same values have a place that good: a permutation test, which assumes
//      nothing about the noise but that its order does not matter. A real one is a border, and both sides are
//      searched in the same way.
//   4. Borders at which the level changes by less than matters are taken away, the smallest first. This is what keeps
//      a slow drift of the machine, where the order does matter, from being called a change.
//
// How much a level changed is the median of all differences across the border (Hodges and Lehmann), with the interval
// that belongs to it (Moses): a few wild values move neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace leantea::lab {

struct ChangePointOptions {
  /// A border is real when at most this part of the random orders looks as much like a change.
  double significance = 0.003;
  /// Changes of less than this part of the level are left out.
  double smallest_change = 0.015;
  /// The fewest values on either side of a border: fewer may be a passing disturbance.
  std::size_t fewest = 3;
  /// How many values on either side of a border its change is taken from: further away other things differ as well.
  std::size_t reach = 30;
  /// Of the random orders. The same values give the same answer.
  std::uint64_t seed = 20231;
};

struct ChangePoint {
  std::size_t index = 0;  ///< the first value after the change
  double ratio = 1;       ///< the level after ÷ the level before
  double low = 1;         ///< its 95 % interval
  double high = 1;
  double chance = 0;  ///< how often a random order of the same values looks as much like a change
};

/// The change points of `values`, in order. REQUIRES: all values are greater than 0.
std::vector<ChangePoint> change_points(std::span<const double> values,
                                       const ChangePointOptions& options = {});

/// The fewest values in which a change can be found: in fewer, chance alone may put any values in two groups.
std::size_t fewest_values(const ChangePointOptions& options);

}  // namespace leantea::lab

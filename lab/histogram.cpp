#include "histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace leantea::lab {

void Histogram::record(std::chrono::nanoseconds value) noexcept {
  const std::int64_t ns = std::max<std::int64_t>(value.count(), 0);
  ++buckets_[bucket_of(static_cast<std::uint64_t>(ns))];
  ++count_;
  max_ = std::max(max_, ns);
}

void Histogram::add(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
}

std::chrono::nanoseconds Histogram::percentile(double percent) const noexcept {
  if (count_ == 0) return {};
  const auto rank =
      static_cast<std::uint64_t>(std::ceil(percent / 100 * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= rank && seen > 0) {
      return std::chrono::nanoseconds(std::min(static_cast<std::int64_t>(upper_end_of(i)), max_));
    }
  }
  return max();
}

/// Values below 128 have a bucket each; above, the leading 8 bits of a value choose it.
std::size_t Histogram::bucket_of(std::uint64_t value) noexcept {
  const auto width = static_cast<unsigned>(std::bit_width(value));
  const unsigned shift = width <= kBits ? 0 : width - kBits - 1;
  if (shift >= kDoublings) return kBuckets - 1;
  const auto sub = static_cast<std::size_t>(value >> shift);  // below 256; from 128 when shifted
  return (static_cast<std::size_t>(shift) << kBits) + sub;
}

std::uint64_t Histogram::upper_end_of(std::size_t bucket) noexcept {
  constexpr std::size_t kLinear = std::size_t{2} << kBits;
  if (bucket < kLinear) return bucket;
  const std::size_t shift = (bucket >> kBits) - 1;
  const std::size_t sub = bucket - (shift << kBits);
  return ((static_cast<std::uint64_t>(sub) + 1) << shift) - 1;
}

}  // namespace leantea::lab

// Latencies, counted in buckets whose width grows with the value: at most 0.8 % wide, from 1 ns to over an hour, in a
// fixed 35 KiB. Recording is a few instructions and never allocates. One thread per object.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace leantea::lab {

class Histogram {
 public:
  void record(std::chrono::nanoseconds value) noexcept;
  void add(const Histogram& other) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  std::chrono::nanoseconds max() const noexcept { return std::chrono::nanoseconds(max_); }

  /// The value that `percent` % of the recorded ones do not exceed (the upper end of its bucket); 0 when empty.
  std::chrono::nanoseconds percentile(double percent) const noexcept;

 private:
  static constexpr unsigned kBits = 7;  // 128 buckets for each doubling
  static constexpr unsigned kDoublings = 36;
  static constexpr std::size_t kBuckets = (kDoublings + 1) << kBits;

  static std::size_t bucket_of(std::uint64_t value) noexcept;
  static std::uint64_t upper_end_of(std::size_t bucket) noexcept;

  std::array<std::uint64_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::int64_t max_ = 0;
};

}  // namespace leantea::lab

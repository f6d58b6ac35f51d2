// LineScanner: finds the ends of names and lines, for the parsers of field sections.
//
// Made for one section, used from its front to its end, on one thread. Nothing outside the bytes given is
// read.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/scan.hpp"
#include "h1/usual_names.hpp"
#include "http/byte_set.hpp"

namespace leantea::h1 {

inline bool is_crlf(const char* p) noexcept { return std::memcmp(p, "\r\n", 2) == 0; }

/// Searches lines, up to one stop for all of them. A head parser spends most of its time here. So control
/// characters are looked for in 64 bytes at once: that is two lines or three, whose ends are then read off a
/// mask. Names are shorter than 16 bytes, and found by looking at 16 bytes in place.
///
/// Places are counted from one base, as those who ask store them.
class LineScanner {
 public:
  static constexpr std::size_t kNone = SIZE_MAX;
  /// What must be readable before the stop.
  static constexpr std::size_t kReadableBytes = 16 + 2;

  /// REQUIRES: stop >= kReadableBytes, and those before `stop` and [from, stop) can be read.
  LineScanner(const char* base, [[maybe_unused]] std::size_t from, std::size_t stop) noexcept
      : base_(base),
        stop_(stop)
#ifdef __SSE2__
        ,
        last_block_(stop - kReadableBytes),
        from_(from),
        next_block_(from)
#endif
  {
  }

  /// The usual name that the line begins with, its colon and two more bytes behind it; or null.
  /// REQUIRES: line <= stop.
  [[gnu::always_inline]] const UsualName* usual_name(
      [[maybe_unused]] std::size_t line) const noexcept {
#ifdef __SSE4_1__
    if (line <= last_block_) [[likely]]
      return kUsualNames.find(base::scan::load16(base_ + line));
    return kUsualNames.find(
        without_first(line - last_block_, base::scan::load16(base_ + last_block_)));
#else
    return nullptr;
#endif
  }

  bool at_stop(std::size_t at) const noexcept { return at == stop_; }

  /// The first byte of [at, stop) that is no tchar (RFC 9110 §5.6.2). kNone when it has not two bytes
  /// behind it. REQUIRES: !at_stop(at).
  [[gnu::always_inline]] std::size_t token_end(std::size_t at) const noexcept {
#ifdef __SSSE3__
    const unsigned hits = at <= last_block_ ? no_tchar(base_ + at)
                                            : no_tchar(base_ + last_block_) >> (at - last_block_);
    if (hits != 0) [[likely]]
      return at + static_cast<unsigned>(std::countr_zero(hits));
#endif
    const char* const end = base::skip_token(base_ + at, base_ + stop_);
    const auto found = static_cast<std::size_t>(end - base_);
    return stop_ - found > 2 ? found : kNone;
  }

  /// What is behind the CR LF before which [at, stop) holds no control characters but HTAB. 0 when something
  /// else comes first. REQUIRES: between what the last call returned and `at` there is nothing but visible
  /// ASCII characters and SP.
  [[gnu::always_inline]] std::size_t next_line(std::size_t at) noexcept {
#ifdef __SSE2__
    while (odd_ == 0) [[unlikely]] {
      block_ = std::max(next_block_, at);
      if (block_ + 1 >= stop_) return 0;
      next_block_ = block_ + kBlock;
      odd_ = odd_bytes_of_block();
    }
    const std::size_t first = block_ + static_cast<std::size_t>(std::countr_zero(odd_));
    if (is_crlf(base_ + first)) [[likely]] {
      odd_ &= odd_ - 1;  // the CR, and the LF
      odd_ &= odd_ - 1;
      return first + 2;
    }
#endif
    // It may be HTAB or obs-text.
    const char* const end = base_ + stop_;
    const char* const text_end = base::find_control(base_ + at, end);
    if (end - text_end < 2 || !is_crlf(text_end)) return 0;
    const auto next = static_cast<std::size_t>(text_end + 2 - base_);
#ifdef __SSE2__
    odd_ = 0;
    next_block_ = next;
#endif
    return next;
  }

 private:
#ifdef __SSE4_1__
  /// The bytes without the first `count`, and zeros behind them. REQUIRES: count <= kReadableBytes.
  static __m128i without_first(std::size_t count, __m128i bytes) noexcept {
    alignas(64) static constexpr auto kPlaces = [] {
      std::array<char, 16 + kReadableBytes> places{};
      for (std::size_t i = 0; i < places.size(); ++i)
        places[i] = i < 16 ? static_cast<char>(i) : '\x80';
      return places;
    }();
    return _mm_shuffle_epi8(bytes, base::scan::load16(kPlaces.data() + count));
  }
#endif

#ifdef __SSSE3__
  static unsigned no_tchar(const char* p) noexcept {
    return http::kTokenBytes.not_in(base::scan::load16(p));
  }
#endif

#ifdef __SSE2__
  static constexpr std::size_t kBlock = 64;

  static std::uint64_t odd_bytes(const char* p) noexcept {
    return base::scan::odd_bytes(base::scan::load16(p));
  }

  [[gnu::always_inline]] static std::uint64_t odd_bytes_of_64(const char* p) noexcept {
    return odd_bytes(p) | odd_bytes(p + 16) << 16 | odd_bytes(p + 32) << 32 |
           odd_bytes(p + 48) << 48;
  }

  /// Bit i: the byte i of the block is a control character, or one of the bytes that look like it
  /// (base/scan.hpp). The last byte before the stop is left out: so what is found has a byte behind it.
  /// REQUIRES: block_ < stop_ - 1.
  [[gnu::always_inline]] std::uint64_t odd_bytes_of_block() const noexcept {
    const std::size_t left = stop_ - 1 - block_;
    if (left >= kBlock) return odd_bytes_of_64(base_ + block_);
    if (stop_ - from_ > kBlock)
      return odd_bytes_of_64(base_ + stop_ - 1 - kBlock) >> (kBlock - left);
    return odd_bytes_of_short_section(base_ + block_, base_ + stop_ - 1);
  }

  // What is not inlined gets values, not the scanner, which would then live in memory.
  [[gnu::noinline]] static std::uint64_t odd_bytes_of_short_section(const char* block,
                                                                    const char* end) noexcept {
    const std::ptrdiff_t left = end - block;
    std::uint64_t odd = 0;
    std::ptrdiff_t at = 0;
    for (; at + 16 <= left; at += 16) odd |= odd_bytes(block + at) << at;
    // What is left, as the end of the last 16 bytes there are.
    if (at < left) odd |= odd_bytes(end - 16) >> (16 - (left - at)) << at;
    return odd;
  }
#endif

  const char* base_;
  std::size_t stop_;
#ifdef __SSE2__
  [[maybe_unused]] std::size_t last_block_;  ///< used from SSSE3 on
  std::size_t from_;
  std::size_t next_block_;  ///< where the next block may begin
  std::size_t block_ = 0;   ///< what odd_ is about
  std::uint64_t odd_ = 0;   ///< what has not been looked at yet
#endif
};

}  // namespace leantea::h1

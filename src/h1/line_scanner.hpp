// LineScanner: finds the ends of names and lines, for the parsers of field sections.
//
// Made for one section, used from its front to its end, on one thread. Nothing outside the bytes given is
// read.
#pragma once

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
class LineScanner {
 public:
  /// What must be readable before the stop.
  static constexpr std::size_t kReadableBytes = 16 + 2;

  /// REQUIRES: [stop - kReadableBytes, stop) and [from, stop) can be read.
  LineScanner([[maybe_unused]] const char* from, const char* stop) noexcept
      : stop_(stop)
#ifdef __SSE2__
        ,
        last_block_(stop - kReadableBytes),
        block_(from),
        odd_(odd_bytes_of_block())
#endif
  {
  }

  /// The usual name that the line begins with, its colon and two more bytes behind it; or null.
  [[gnu::always_inline]] const UsualName* usual_name(
      [[maybe_unused]] const char* line) const noexcept {
#ifdef __SSE4_1__
    return line <= last_block_ ? kUsualNames.find(base::scan::load16(line))
                               : usual_name_near_stop(line, stop_);
#else
    return nullptr;
#endif
  }

  bool at_stop(const char* p) const noexcept { return p == stop_; }

  /// The first byte of [p, stop) that is no tchar (RFC 9110 §5.6.2). Null when it has not two bytes
  /// behind it. REQUIRES: !at_stop(p).
  [[gnu::always_inline]] const char* token_end(const char* p) const noexcept {
#ifdef __SSSE3__
    const unsigned hits = p <= last_block_
                              ? no_tchar(p)
                              : no_tchar(last_block_) >> static_cast<unsigned>(p - last_block_);
    if (hits != 0) [[likely]]
      return p + static_cast<unsigned>(std::countr_zero(hits));
#endif
    const char* const end = base::skip_token(p, stop_);
    return stop_ - end > 2 ? end : nullptr;
  }

  /// The CR LF before which [p, stop) holds no control characters but HTAB. Null when something else
  /// comes first. REQUIRES: p is not before the p of an earlier call.
  [[gnu::always_inline]] const char* line_end(const char* p) noexcept {
#ifdef __SSE2__
    forget_before(p);
    while (odd_ == 0) [[unlikely]] {
      if (stop_ - block_ <= kBlock) return nullptr;
      block_ += kBlock;
      odd_ = odd_bytes_of_block();
    }
    const char* const first = block_ + static_cast<unsigned>(std::countr_zero(odd_));
    if (is_crlf(first)) [[likely]]
      return first;  // else it may be HTAB or obs-text
#endif
    const char* const text_end = base::find_control(p, stop_);
    return stop_ - text_end >= 2 && is_crlf(text_end) ? text_end : nullptr;
  }

 private:
  // What is not inlined gets values, not the scanner, which would then live in memory.

#ifdef __SSE4_1__
  [[gnu::noinline]] static const UsualName* usual_name_near_stop(const char* line,
                                                                 const char* stop) noexcept {
    const auto left = static_cast<std::size_t>(stop - line);
    if (left <= 2) return nullptr;  // the empty line
    const UsualName* const usual = kUsualNames.find(
        left >= 16 ? base::scan::load16(line) : http::load_less_than_16(line, left));
    return usual != nullptr && usual->size + 2U < left ? usual : nullptr;
  }
#endif

#ifdef __SSSE3__
  static unsigned no_tchar(const char* p) noexcept {
    return http::kTokenBytes.not_in(base::scan::load16(p));
  }
#endif

#ifdef __SSE2__
  static constexpr std::ptrdiff_t kBlock = 64;

  [[gnu::always_inline]] void forget_before(const char* p) noexcept {
    const std::ptrdiff_t done = p - block_;
    if (done < kBlock) [[likely]] {
      odd_ &= ~std::uint64_t{0} << done;
      return;
    }
    block_ = p;
    odd_ = odd_bytes_of_block();
  }

  static std::uint64_t odd_bytes(const char* p) noexcept {
    return base::scan::odd_bytes(base::scan::load16(p));
  }

  /// Bit i: block_[i] is a control character, or one of the bytes that look like it (base/scan.hpp). The
  /// last byte before the stop is left out: so what is found has a byte behind it.
  [[gnu::always_inline]] std::uint64_t odd_bytes_of_block() const noexcept {
    const std::ptrdiff_t left = stop_ - 1 - block_;
    if (left < kBlock) return odd_bytes_of_last_block(block_, stop_ - 1);
    return odd_bytes(block_) | odd_bytes(block_ + 16) << 16 | odd_bytes(block_ + 32) << 32 |
           odd_bytes(block_ + 48) << 48;
  }

  [[gnu::noinline]] static std::uint64_t odd_bytes_of_last_block(const char* block,
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

  const char* stop_;
#ifdef __SSE2__
  [[maybe_unused]] const char* last_block_;  ///< used from SSSE3 on
  const char* block_;
  std::uint64_t odd_;
#endif
};

}  // namespace leantea::h1

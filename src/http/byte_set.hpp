// ByteSet: a set of ASCII characters, made at compile time, and the search for the first byte that
// is not in it. Inline, because most of what it is asked about is shorter than a cache line, where a
// call costs more than the search.
//
// Pure functions, any thread. Nothing outside [p, end) is read: inputs may end at an unreadable page.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#ifdef __SSSE3__
#include <tmmintrin.h>
#endif

#include "base/load_word.hpp"

namespace leantea::http {

#ifdef __SSSE3__
/// The first 16 bytes of the `size` at `p`, and zeros where there are none: from loads that overlap
/// instead of passing the end.
/// REQUIRES: size < 16.
inline __m128i load_less_than_16(const char* p, std::size_t size) noexcept {
  if (size >= 8) {
    const auto low = base::load_word<std::uint64_t>(p);
    const auto high = base::load_word<std::uint64_t>(p + size - 8);
    // Shifted in two steps, because all of it goes when size is 8.
    const std::uint64_t rest = high >> 8 >> (8 * (15 - size));
    return _mm_set_epi64x(static_cast<long long>(rest), static_cast<long long>(low));
  }
  std::uint64_t bytes = 0;
  if (size >= 4) {
    const auto load = base::load_word<std::uint32_t>;
    bytes = load(p) | std::uint64_t{load(p + size - 4)} << (8 * (size - 4));
  } else if (size > 0) {
    const auto load = base::load_word<std::uint8_t>;
    bytes = load(p) | std::uint64_t{load(p + size / 2)} << (8 * (size / 2)) |
            std::uint64_t{load(p + size - 1)} << (8 * (size - 1));
  }
  return _mm_cvtsi64_si128(static_cast<long long>(bytes));
}
#endif

class ByteSet {
 public:
  /// REQUIRES: every character is from 1 to 0x7f. NUL and the octets from 0x80 are in no set.
  consteval explicit ByteSet(std::string_view members) {
    for (const char c : members) add(c);
  }

  /// This set and `more`.
  consteval ByteSet with(std::string_view more) const {
    ByteSet set = *this;
    for (const char c : more) set.add(c);
    return set;
  }

  constexpr bool has(char c) const noexcept {
    const auto u = static_cast<std::uint8_t>(c);
    return u < 0x80 && (rows_[u & 15] >> (u >> 4) & 1) != 0;
  }

  /// The first byte of [p, end) that is not in the set, or `end`.
  [[gnu::always_inline]] const char* skip(const char* p, const char* end) const noexcept {
#ifdef __SSSE3__
    for (; end - p >= 16; p += 16)
      if (const unsigned others = not_in(load_16(p)); others != 0)
        return p + std::countr_zero(others);
    return skip_last(p, end);
#else
    while (p != end && has(*p)) ++p;
    return p;
#endif
  }

#ifdef __SSSE3__
  /// Bit i: byte i is not in the set.
  unsigned not_in(__m128i bytes) const noexcept {
    // rows_[low half of the byte] has the high halves that make a member; a byte from 0x80 gets 0.
    const __m128i rows = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows_.data()));
    const __m128i row = _mm_shuffle_epi8(rows, bytes);
    const __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), _mm_set1_epi8(15));
    const __m128i bit =
        _mm_shuffle_epi8(_mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0), high);
    const __m128i none = _mm_cmpeq_epi8(_mm_and_si128(row, bit), _mm_setzero_si128());
    return static_cast<unsigned>(_mm_movemask_epi8(none));
  }
#endif

 private:
#ifdef __SSSE3__
  static __m128i load_16(const char* p) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  /// skip() where [p, end) is shorter than 16. A zero behind the end is in no set, so it ends the search.
  [[gnu::noinline]] const char* skip_last(const char* p, const char* end) const noexcept {
    return p + std::countr_zero(not_in(load_less_than_16(p, static_cast<std::size_t>(end - p))));
  }
#endif

  consteval void add(char c) {
    const auto u = static_cast<std::uint8_t>(c);
    if (u == 0 || u >= 0x80) throw "not for a ByteSet";
    rows_[u & 15] = static_cast<std::uint8_t>(rows_[u & 15] | 1u << (u >> 4));
  }

  std::array<std::uint8_t, 16> rows_{};  ///< bit h of rows_[l]: the byte 16 * h + l is a member
};

inline constexpr ByteSet kDigits{"0123456789"};
inline constexpr ByteSet kHexDigits{"0123456789abcdefABCDEF"};
inline constexpr ByteSet kLettersAndDigits =
    kDigits.with("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

/// RFC 9110 §5.6.2.
inline constexpr ByteSet kTokenBytes = kLettersAndDigits.with("!#$%&'*+-.^_`|~");

/// token = 1*tchar.
inline bool is_token(std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  return !text.empty() && kTokenBytes.skip(text.data(), end) == end;
}

/// RFC 3986 §2.2, §2.3: what a registered name is made of, beside percent-encodings.
inline constexpr ByteSet kUnreservedAndSubDelims = kLettersAndDigits.with("-._~!$&'()*+,;=");

/// What a path may hold that is sure to need neither decoding nor normalising: pchar (RFC 3986 §3.3) and '/',
/// without '%', and without '.', which may begin a dot segment.
inline constexpr ByteSet kPlainPathBytes = kLettersAndDigits.with("-_~!$&'()*+,;=").with(":@/");

/// VCHAR (RFC 5234 §B.1): what may stand in a request target at all.
inline constexpr ByteSet kVisibleBytes = kTokenBytes.with("\"(),/:;<=>?@[\\]{}");

/// The value of a hexadecimal digit. REQUIRES: kHexDigits.has(c).
constexpr unsigned hex_value(char c) noexcept {
  return c <= '9' ? static_cast<unsigned>(c - '0') : static_cast<unsigned>((c | 0x20) - 'a') + 10;
}

}  // namespace leantea::http

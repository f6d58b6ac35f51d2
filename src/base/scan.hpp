// Byte scanning for the parsers: the few loops over input bytes that are worth SIMD.
//
// Pure functions, any thread. No function reads outside [p, end): inputs may end at an unreadable
// page. Each has one meaning and several implementations (plain C++, SSE2, AVX2, NEON; scan_impl.hpp
// lists them). All give equal results. The first 16 bytes are looked at in the caller, because most
// of what is asked about ends there and a call costs more than the search; all else goes to the best
// implementation that this processor has, chosen once, at start.
#pragma once

#if defined(__SSSE3__)
#include <tmmintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#include <arm_neon.h>
#define LEANTEA_SCAN_NEON 1
#endif

#include <bit>
#include <cstdint>

namespace leantea::base {

/// The first byte of [p, end) that no field value and no request line may hold: a control character
/// other than HTAB, or DEL (RFC 9110 §5.5). `end` when there is none. CR and LF are among them, so
/// this finds line ends. Bytes 0x80–0xFF pass (obs-text).
inline const char* find_control(const char* p, const char* end) noexcept;

/// The first byte of [p, end) that is not a tchar (RFC 9110 §5.6.2), or `end`.
inline const char* skip_token(const char* p, const char* end) noexcept;

// ---- The first 16 bytes ----
// NOLINTBEGIN(portability-simd-intrinsics)

namespace scan {

// A kernel is a struct with hits(p): the mask of [p, p + 16), kBitsPerByte bits for each byte and the
// first byte's lowest. It is 0 when no byte is searched for; else its lowest bit is in the first one
// that is, and the bits above mean nothing.

#if defined(__SSE2__)

using Mask16 = unsigned;
inline constexpr unsigned kBitsPerByte = 1;

inline __m128i load16(const char* p) noexcept {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

/// Bytes whose highest bit is set where a byte is searched for by find_control(), and for some of
/// those from 0x80 and HTAB as well. Adding 1 sets it for DEL; what is below 0x21 then gets it by the
/// subtraction, which does not wrap. Where the first such byte is a CR, nothing more need be known.
inline Mask16 odd_bytes(__m128i bytes) noexcept {
  const __m128i next = _mm_add_epi8(bytes, _mm_set1_epi8(1));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_subs_epi8(next, _mm_set1_epi8(0x21))));
}

/// Without SSSE3's table look-up: the ranges between the tchars, one after the other.
struct NoTcharSse2 {
  static Mask16 hits(__m128i bytes) noexcept {
    const auto is = [](__m128i b, char c) { return _mm_cmpeq_epi8(b, _mm_set1_epi8(c)); };
    const auto with = [](__m128i a, __m128i b) { return _mm_or_si128(a, b); };
    const __m128i lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    // Signed: the bytes from 0x80 are below 0x21 too.
    __m128i no = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x21));
    no = with(no, is(bytes, '"'));
    no = with(no, is(_mm_and_si128(bytes, _mm_set1_epi8(~1)), '('));  // and ')'
    no = with(no, with(is(bytes, ','), is(bytes, '/')));
    const __m128i from_colon = _mm_sub_epi8(bytes, _mm_set1_epi8(':'));  // to '@'
    no = with(no, _mm_cmpeq_epi8(_mm_min_epu8(from_colon, _mm_set1_epi8('@' - ':')), from_colon));
    no = with(no, with(is(lower, '{'), is(lower, '}')));  // and '[', ']'
    no = with(no, with(is(bytes, '\\'), is(bytes, 0x7f)));
    return static_cast<unsigned>(_mm_movemask_epi8(no));
  }
};

#if defined(__SSSE3__)
struct NoTcharSsse3 {
  static Mask16 hits(__m128i bytes) noexcept {
    // Bit h of entry l of the first: 16 * h + l is a tchar. 16 bytes are looked up at once.
    const __m128i rows =
        _mm_setr_epi8(-24, -4, -8, -4, -4, -4, -4, -4, -8, -8, -12, 84, -48, 84, -12, 112);
    const __m128i bits = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m128i row = _mm_shuffle_epi8(rows, bytes);  // 0 for bytes from 0x80
    const __m128i high = _mm_and_si128(_mm_srli_epi16(bytes, 4), _mm_set1_epi8(15));
    const __m128i bit = _mm_shuffle_epi8(bits, high);
    return static_cast<unsigned>(
        _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(row, bit), _mm_setzero_si128())));
  }
};
using NoTchar = NoTcharSsse3;
#else
using NoTchar = NoTcharSse2;
#endif

#elif defined(LEANTEA_SCAN_NEON)

using Mask16 = std::uint64_t;
inline constexpr unsigned kBitsPerByte = 4;

inline uint8x16_t load16(const char* p) noexcept {
  return vld1q_u8(reinterpret_cast<const std::uint8_t*>(p));
}
/// NEON has no movemask; narrowing by 4 bits leaves half a byte of each.
inline Mask16 mask_of(uint8x16_t hits) noexcept {
  return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(hits), 4)), 0);
}

struct Control {
  static Mask16 hits(uint8x16_t bytes) noexcept {
    const uint8x16_t below_space = vcltq_u8(bytes, vdupq_n_u8(0x20));
    const uint8x16_t tab = vceqq_u8(bytes, vdupq_n_u8('\t'));
    const uint8x16_t del = vceqq_u8(bytes, vdupq_n_u8(0x7f));
    return mask_of(vorrq_u8(vbicq_u8(below_space, tab), del));
  }
};

struct NoTchar {
  static Mask16 hits(uint8x16_t bytes) noexcept {
    // Bit h of entry l of the first: 16 * h + l is a tchar. 16 bytes are looked up at once.
    static constexpr std::uint8_t kRows[16] = {0xe8, 0xfc, 0xf8, 0xfc, 0xfc, 0xfc, 0xfc, 0xfc,
                                               0xf8, 0xf8, 0xf4, 0x54, 0xd0, 0x54, 0xf4, 0x70};
    static constexpr std::uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128};
    const uint8x16_t row = vqtbl1q_u8(vld1q_u8(kRows), vandq_u8(bytes, vdupq_n_u8(15)));
    const uint8x16_t bit = vqtbl1q_u8(vld1q_u8(kBits), vshrq_n_u8(bytes, 4));  // 0 from 0x80
    return mask_of(vceqzq_u8(vandq_u8(row, bit)));
  }
};

#endif

#if defined(__SSE2__) || defined(LEANTEA_SCAN_NEON)
#define LEANTEA_SCAN_16 1
inline unsigned index_of(Mask16 hits) noexcept {
  return static_cast<unsigned>(std::countr_zero(hits)) / kBitsPerByte;
}
#endif

/// The same as the public functions, by the best implementation.
const char* find_control_far(const char* p, const char* end) noexcept;
const char* skip_token_far(const char* p, const char* end) noexcept;

}  // namespace scan
// NOLINTEND(portability-simd-intrinsics)

inline const char* find_control(const char* p, const char* end) noexcept {
#if defined(__SSE2__)
  if (end - p >= 16) {
    const scan::Mask16 odd = scan::odd_bytes(scan::load16(p));
    if (odd != 0 && p[scan::index_of(odd)] == '\r') return p + scan::index_of(odd);
  }
#elif defined(LEANTEA_SCAN_NEON)
  if (end - p >= 16) {
    const scan::Mask16 hits = scan::Control::hits(scan::load16(p));
    if (hits != 0) return p + scan::index_of(hits);
  }
#endif
  return scan::find_control_far(p, end);
}

inline const char* skip_token(const char* p, const char* end) noexcept {
#if defined(LEANTEA_SCAN_16)
  if (end - p >= 16) {
    const scan::Mask16 hits = scan::NoTchar::hits(scan::load16(p));
    if (hits != 0) return p + scan::index_of(hits);
  }
#endif
  return scan::skip_token_far(p, end);
}

}  // namespace leantea::base

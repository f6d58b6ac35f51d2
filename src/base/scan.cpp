#include "base/scan.hpp"

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include <array>
#include <atomic>
#include <cstddef>

#include "base/load_word.hpp"
#include "base/scan_impl.hpp"

// Each instruction set has its own code here.
// NOLINTBEGIN(portability-simd-intrinsics)
namespace leantea::base::scan {
namespace {

// ---- Plain C++ ----

constexpr bool is_control(char c) noexcept {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

constexpr auto kIsTchar = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}();
constexpr bool is_no_tchar(char c) noexcept { return !kIsTchar[static_cast<unsigned char>(c)]; }

template <bool (*IsHit)(char)>
const char* plain(const char* p, const char* end) noexcept {
  while (p != end && !IsHit(*p)) ++p;
  return p;
}

#if defined(LEANTEA_SCAN_16)

// ---- 16 bytes at a time: SSE2, SSSE3, NEON ----

#if defined(__SSE2__)
struct Control {
  static Mask16 hits(__m128i bytes) noexcept {
    const __m128i below_space = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    const __m128i tab = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'));
    const __m128i del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));
    return static_cast<unsigned>(
        _mm_movemask_epi8(_mm_or_si128(_mm_andnot_si128(tab, below_space), del)));
  }
};
#endif

inline auto from_words(std::uint64_t first, std::uint64_t second) noexcept {
#if defined(__SSE2__)
  return _mm_set_epi64x(static_cast<long long>(second), static_cast<long long>(first));
#else
  return vcombine_u8(vcreate_u8(first), vcreate_u8(second));
#endif
}

/// A search of `size` bytes, with sizeof(Word) <= size <= 2 * sizeof(Word): its first word and its
/// last one, which may overlap. A hit in both is found in the first.
template <typename Kernel, typename Word>
const char* in_two_words(const char* p, const char* end) noexcept {
  constexpr unsigned kWord = sizeof(Word);
  const std::uint64_t first = load_word<Word>(p);
  const std::uint64_t last = load_word<Word>(end - kWord);
  Mask16 hits = 0;
  if constexpr (kWord == 8) {
    hits = Kernel::hits(from_words(first, last));
  } else {
    constexpr unsigned kBits = 2 * kWord * kBitsPerByte;
    hits = Kernel::hits(from_words(first | last << 32, 0)) & ((Mask16{1} << kBits) - 1);
  }
  if (hits == 0) return end;
  const unsigned at = index_of(hits);
  return at < kWord ? p + at : end - 2 * kWord + at;
}

template <typename Kernel, bool (*IsHit)(char)>
const char* in_16s(const char* p, const char* end) noexcept {
  if (end - p < 16) {
    if (end - p >= 8) return in_two_words<Kernel, std::uint64_t>(p, end);
    if (end - p >= 4) return in_two_words<Kernel, std::uint32_t>(p, end);
    return plain<IsHit>(p, end);
  }
  for (; end - p >= 16; p += 16) {
    const Mask16 hits = Kernel::hits(load16(p));
    if (hits != 0) return p + index_of(hits);
  }
  // The last 16 bytes; what was looked at already is known to hold no hit.
  const Mask16 hits = Kernel::hits(load16(end - 16));
  return hits != 0 ? end - 16 + index_of(hits) : end;
}

#endif

#if defined(__SSE2__)

// ---- AVX2 ----
//
// Only functions with the target attribute use AVX2, and they are only called through pointers that
// are set after asking the processor: this file, too, is compiled for the baseline.

#define LEANTEA_AVX2 [[gnu::target("avx2")]]

LEANTEA_AVX2 inline __m256i load32(const char* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
LEANTEA_AVX2 inline unsigned mask32(__m256i hits) noexcept {
  return static_cast<unsigned>(_mm256_movemask_epi8(hits));
}

struct ControlAvx2 {
  using In16s = Control;

  LEANTEA_AVX2 static unsigned hits(const char* p) noexcept {
    const __m256i bytes = load32(p);
    const __m256i tab = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\t'));
    return odd(next(bytes)) & ~mask32(_mm256_or_si256(bytes, tab));
  }

  /// As odd_bytes(), in two steps.
  LEANTEA_AVX2 static __m256i next(__m256i bytes) noexcept {
    return _mm256_add_epi8(bytes, _mm256_set1_epi8(1));
  }
  LEANTEA_AVX2 static unsigned odd(__m256i next) noexcept {
    return mask32(_mm256_subs_epi8(next, _mm256_set1_epi8(0x21)));
  }
};

struct NoTcharAvx2 {
  using In16s = NoTchar;

  LEANTEA_AVX2 static unsigned hits(const char* p) noexcept {
    // As NoTcharSsse3.
    const __m256i rows = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(-24, -4, -8, -4, -4, -4, -4, -4, -8, -8, -12, 84, -48, 84, -12, 112));
    const __m256i bits = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i bytes = load32(p);
    const __m256i row = _mm256_shuffle_epi8(rows, bytes);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
    const __m256i bit = _mm256_shuffle_epi8(bits, high);
    return mask32(_mm256_cmpeq_epi8(_mm256_and_si256(row, bit), _mm256_setzero_si256()));
  }
};

template <typename Kernel, bool (*IsHit)(char)>
LEANTEA_AVX2 const char* in_32s(const char* p, const char* end) noexcept {
  for (; end - p >= 32; p += 32) {
    const unsigned hits = Kernel::hits(p);
    if (hits != 0) return p + index_of(hits);
  }
  return in_16s<typename Kernel::In16s, IsHit>(p, end);
}

LEANTEA_AVX2 const char* find_control_avx2(const char* p, const char* end) noexcept {
  using Kernel = ControlAvx2;
  if (end - p >= 128) {
    // Most searches end here: at a CR, the line's end, with the next lines behind it. No end of input
    // to look out for, and the shortest test for each 32 bytes.
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const char* const here = p + 32 * i;
      const unsigned odd = Kernel::odd(Kernel::next(load32(here)));
      if (odd == 0) continue;
      if (here[index_of(odd)] == '\r') return here + index_of(odd);
      return in_32s<Kernel, is_control>(here, end);
    }
    // What is that long (a cookie) may be longer.
    for (p += 128; end - p >= 128; p += 128) {
      const __m256i smallest = _mm256_min_epi8(
          _mm256_min_epi8(Kernel::next(load32(p)), Kernel::next(load32(p + 32))),
          _mm256_min_epi8(Kernel::next(load32(p + 64)), Kernel::next(load32(p + 96))));
      if (Kernel::odd(smallest) != 0) break;
    }
  }
  return in_32s<Kernel, is_control>(p, end);
}

#endif

// ---- The choice ----

constexpr Implementation kAll[] = {
    {"plain", &plain<is_control>, &plain<is_no_tchar>},
#if defined(__SSE2__)
    {"SSE2", &in_16s<Control, is_control>, &in_16s<NoTcharSse2, is_no_tchar>},
#if defined(__SSSE3__)
    {"SSSE3", &in_16s<Control, is_control>, &in_16s<NoTcharSsse3, is_no_tchar>},
#endif
    {"AVX2", &find_control_avx2, &in_32s<NoTcharAvx2, is_no_tchar>},
#elif defined(LEANTEA_SCAN_NEON)
    {"NEON", &in_16s<Control, is_control>, &in_16s<NoTchar, is_no_tchar>},
#endif
};
#if defined(__SSE2__)
constexpr std::size_t kBaseline = std::size(kAll) - 1;
#else
constexpr std::size_t kBaseline = std::size(kAll);
#endif

/// The implementation in use. The baseline's until the processor was asked, so that initialisers of
/// other files may scan already; atomic because those may have started threads.
struct Best {
  std::atomic<Search> find_control{kAll[kBaseline - 1].find_control};
  std::atomic<Search> skip_token{kAll[kBaseline - 1].skip_token};
};
constinit Best best;

[[maybe_unused]] const bool kChosen = [] {
  best.find_control.store(implementations().back().find_control, std::memory_order_relaxed);
  best.skip_token.store(implementations().back().skip_token, std::memory_order_relaxed);
  return true;
}();

}  // namespace

const char* find_control_far(const char* p, const char* end) noexcept {
  return best.find_control.load(std::memory_order_relaxed)(p, end);
}

const char* skip_token_far(const char* p, const char* end) noexcept {
  return best.skip_token.load(std::memory_order_relaxed)(p, end);
}

std::span<const Implementation> implementations() noexcept {
#if defined(__SSE2__)
  if (__builtin_cpu_supports("avx2")) return kAll;
#endif
  return {kAll, kBaseline};
}

}  // namespace leantea::base::scan
// NOLINTEND(portability-simd-intrinsics)

#include "base/scan.hpp"

#ifdef __SSE2__
#include <immintrin.h>
#endif

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "base/scan_impl.hpp"

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

template <bool (*kIsHit)(char)>
const char* plain(const char* p, const char* end) noexcept {
  while (p != end && !kIsHit(*p)) ++p;
  return p;
}

#if defined(__SSE2__) || defined(LEANTEA_SCAN_NEON)
#define LEANTEA_SCAN_16 1

// ---- 16 bytes at a time: SSE2, SSSE3, NEON ----

inline std::ptrdiff_t index_of(Mask16 hits) noexcept {
  return std::countr_zero(hits) / kBitsPerByte;
}

template <typename Word>
std::uint64_t load(const char* p) noexcept {
  Word word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

inline Bytes16 from_words(std::uint64_t first, std::uint64_t second) noexcept {
#if defined(__SSE2__)
  return _mm_set_epi64x(static_cast<long long>(second), static_cast<long long>(first));
#else
  return vcombine_u8(vcreate_u8(first), vcreate_u8(second));
#endif
}

/// A search of `size` bytes, with sizeof(Word) <= size <= 2 * sizeof(Word): its first word and its
/// last one, which may overlap. A hit in both is found in the first.
template <typename Kernel, typename Word>
const char* two_words(const char* p, const char* end) noexcept {
  constexpr int kWord = sizeof(Word);
  const std::uint64_t first = load<Word>(p);
  const std::uint64_t last = load<Word>(end - kWord);
  Mask16 hits = 0;
  if constexpr (kWord == 8) {
    hits = Kernel::hits(from_words(first, last));
  } else {
    constexpr int kBits = 2 * kWord * kBitsPerByte;
    hits = Kernel::hits(from_words(first | last << 32, 0)) & ((Mask16{1} << kBits) - 1);
  }
  if (hits == 0) return end;
  const std::ptrdiff_t at = index_of(hits);
  return at < kWord ? p + at : end - 2 * kWord + at;
}

template <typename Kernel, bool (*kIsHit)(char)>
const char* below_16(const char* p, const char* end) noexcept {
  if (end - p >= 8) return two_words<Kernel, std::uint64_t>(p, end);
  if (end - p >= 4) return two_words<Kernel, std::uint32_t>(p, end);
  return plain<kIsHit>(p, end);
}

/// REQUIRES: [p - 16, p) can be read and holds no hit.
template <typename Kernel>
const char* behind_16(const char* p, const char* end) noexcept {
  for (; end - p >= 16; p += 16) {
    const Mask16 hits = Kernel::hits(load16(p));
    if (hits != 0) return p + index_of(hits);
  }
  // The last 16 bytes, those that were looked at already included.
  const Mask16 hits = p == end ? 0 : Kernel::hits(load16(end - 16));
  return hits == 0 ? end : end - 16 + index_of(hits);
}

template <typename Kernel, bool (*kIsHit)(char), Search kBehind>
const char* complete(const char* p, const char* end) noexcept {
  if (end - p < 16) return below_16<Kernel, kIsHit>(p, end);
  const Mask16 hits = Kernel::hits(load16(p));
  return hits != 0 ? p + index_of(hits) : kBehind(p + 16, end);
}

#endif

#if defined(__SSE2__)

// ---- AVX2 ----
//
// Only functions with the target attribute use AVX2, and they are only called through pointers that
// are set after asking the processor: this file, too, is compiled for the baseline.

#define LEANTEA_AVX2 [[gnu::target("avx2")]]

struct ControlAvx2 {
  using Below32 = Control;
  LEANTEA_AVX2 static __m256i hits(__m256i bytes) noexcept {
    const __m256i below_space =
        _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
    const __m256i tab = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\t'));
    const __m256i del = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(0x7f));
    return _mm256_or_si256(_mm256_andnot_si256(tab, below_space), del);
  }
};

struct NoTcharAvx2 {
  using Below32 = NoTchar;
  LEANTEA_AVX2 static __m256i hits(__m256i bytes) noexcept {
    // As NoTcharSsse3, whose table is not there in a build for SSE2 alone.
    const __m256i rows = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(-24, -4, -8, -4, -4, -4, -4, -4, -8, -8, -12, 84, -48, 84, -12, 112));
    const __m256i bits = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0));
    const __m256i row = _mm256_shuffle_epi8(rows, bytes);
    const __m256i high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
    const __m256i bit = _mm256_shuffle_epi8(bits, high);
    return _mm256_cmpeq_epi8(_mm256_and_si256(row, bit), _mm256_setzero_si256());
  }
};

LEANTEA_AVX2 inline __m256i load32(const char* p) noexcept {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
LEANTEA_AVX2 inline unsigned mask32(__m256i hits) noexcept {
  return static_cast<unsigned>(_mm256_movemask_epi8(hits));
}

/// REQUIRES: as behind_16().
template <typename Kernel>
LEANTEA_AVX2 const char* behind_16_avx2(const char* p, const char* end) noexcept {
  for (; end - p >= 32; p += 32) {
    const unsigned hits = mask32(Kernel::hits(load32(p)));
    if (hits != 0) return p + index_of(hits);
  }
  if (end - p < 16) return behind_16<typename Kernel::Below32>(p, end);
  const unsigned hits = mask32(Kernel::hits(load32(end - 32)));
  return hits == 0 ? end : end - 32 + index_of(hits);
}

#endif

// ---- The choice ----

/// What runs behind the first 16 bytes. The baseline until the processor was asked, so that the
/// initialisers of other files may scan already; atomic because those may have started threads.
struct Behind {
  std::atomic<Search> find_control;
  std::atomic<Search> skip_token;
};

#if defined(LEANTEA_SCAN_16)
constinit Behind behind{&behind_16<Control>, &behind_16<NoTchar>};
#else
constinit Behind behind{&plain<is_control>, &plain<is_no_tchar>};
#endif

#if defined(__SSE2__)
[[maybe_unused]] const bool kChosen = [] {
  if (!__builtin_cpu_supports("avx2")) return false;
  behind.find_control.store(&behind_16_avx2<ControlAvx2>, std::memory_order_relaxed);
  behind.skip_token.store(&behind_16_avx2<NoTcharAvx2>, std::memory_order_relaxed);
  return true;
}();
#endif

}  // namespace

const char* find_control_behind(const char* p, const char* end) noexcept {
  return behind.find_control.load(std::memory_order_relaxed)(p, end);
}

const char* skip_token_behind(const char* p, const char* end) noexcept {
  return behind.skip_token.load(std::memory_order_relaxed)(p, end);
}

#if defined(LEANTEA_SCAN_16)
const char* find_control_short(const char* p, const char* end) noexcept {
  return below_16<Control, is_control>(p, end);
}

const char* skip_token_short(const char* p, const char* end) noexcept {
  return below_16<NoTchar, is_no_tchar>(p, end);
}
#else
const char* find_control_short(const char* p, const char* end) noexcept {
  return plain<is_control>(p, end);
}

const char* skip_token_short(const char* p, const char* end) noexcept {
  return plain<is_no_tchar>(p, end);
}
#endif

std::span<const Implementation> implementations() noexcept {
  static constexpr Implementation kAll[] = {
      {"plain", &plain<is_control>, &plain<is_no_tchar>},
#if defined(__SSE2__)
      {"SSE2", &complete<Control, is_control, &behind_16<Control>>,
       &complete<NoTcharSse2, is_no_tchar, &behind_16<NoTcharSse2>>},
#if defined(__SSSE3__)
      {"SSSE3", &complete<Control, is_control, &behind_16<Control>>,
       &complete<NoTcharSsse3, is_no_tchar, &behind_16<NoTcharSsse3>>},
#endif
      {"AVX2", &complete<Control, is_control, &behind_16_avx2<ControlAvx2>>,
       &complete<NoTchar, is_no_tchar, &behind_16_avx2<NoTcharAvx2>>},
#elif defined(LEANTEA_SCAN_NEON)
      {"NEON", &complete<Control, is_control, &behind_16<Control>>,
       &complete<NoTchar, is_no_tchar, &behind_16<NoTchar>>},
#endif
  };
  std::size_t count = std::size(kAll);
#if defined(__SSE2__)
  if (!kChosen) --count;
#endif
  return {kAll, count};
}

}  // namespace leantea::base::scan

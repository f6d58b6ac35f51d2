// One field line (RFC 9112 §5): the rules that header and trailer sections share.
//
// Pure functions, any thread. Nothing outside the bytes given is read.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/scan.hpp"
#include "h1/usual_names.hpp"
#include "http/byte_set.hpp"
#include "http/request_head.hpp"

namespace leantea::h1 {

inline bool is_crlf(const char* p) noexcept { return std::memcmp(p, "\r\n", 2) == 0; }

/// Searches lines, up to one stop for all of them. A head parser spends most of its time here, on
/// names and values that are shorter than 16 bytes; so these are found by looking at 16 bytes in
/// place, and close to the stop by looking at the last ones and leaving out what is in front.
class LineScanner {
 public:
  /// What must be readable before the stop.
  static constexpr std::size_t kReadableBytes = 16 + 2;

  /// REQUIRES: [stop - kReadableBytes, stop) can be read.
  explicit LineScanner(const char* stop) noexcept
      : stop_(stop), last_block_(stop - kReadableBytes) {}

  /// The usual name that the line begins with, its colon and two more bytes behind it; or null.
  const UsualName* usual_name(const char* line) const noexcept {
#ifdef __SSE4_1__
    if (line <= last_block_) [[likely]]
      return kUsualNames.find(line);
#endif
    return nullptr;
  }

  /// The first byte of [p, stop) that is no tchar (RFC 9110 §5.6.2). Null when it has not two bytes
  /// behind it.
  const char* token_end(const char* p) const noexcept {
#ifdef __SSSE3__
    if (const unsigned hits = hits_at<NoTchar>(p); hits != 0) [[likely]]
      return p + static_cast<unsigned>(std::countr_zero(hits));
#endif
    const char* const end = base::skip_token(p, stop_);
    return stop_ - end > 2 ? end : nullptr;
  }

  /// The first byte of [p, stop) that is not a visible character (VCHAR, RFC 5234 §B.1), or the stop.
  const char* visible_end(const char* p) const noexcept {
#ifdef __SSSE3__
    for (;; p += 16) {
      if (const unsigned hits = hits_at<Below<0x21>>(p); hits != 0) [[likely]]
        return p + static_cast<unsigned>(std::countr_zero(hits));
      if (p >= last_block_) break;
    }
#endif
    while (p != stop_ && *p > 0x20 && *p != 0x7f) ++p;
    return p;
  }

  /// The CR LF before which [p, stop) holds no control characters but HTAB. Null when something else
  /// comes first.
  const char* line_end(const char* p) const noexcept {
#ifdef __SSSE3__
    if (const unsigned hits = hits_at<Below<0x20>>(p); hits != 0) [[likely]] {
      const char* const first = p + static_cast<unsigned>(std::countr_zero(hits));
      if (is_crlf(first)) [[likely]]
        return first;  // else it may be HTAB or obs-text
    } else if (p <= last_block_) {
      p += 16;
    }
#endif
    const char* const text_end = base::find_control(p, stop_);
    return stop_ - text_end >= 2 && is_crlf(text_end) ? text_end : nullptr;
  }

 private:
#ifdef __SSSE3__
  struct NoTchar {
    static unsigned hits(__m128i bytes) noexcept { return http::kTokenBytes.not_in(bytes); }
  };

  /// Octets below kBound, DEL, and those from 0x80, by one signed comparison.
  template <char kBound>
  struct Below {
    static unsigned hits(__m128i bytes) noexcept {
      const __m128i next = _mm_add_epi8(bytes, _mm_set1_epi8(1));  // DEL becomes negative
      return static_cast<unsigned>(
          _mm_movemask_epi8(_mm_cmpgt_epi8(_mm_set1_epi8(kBound + 1), next)));
    }
  };

  /// Bit i: p[i] is a hit. 0 when the block that could be looked at has none. The last block leaves
  /// two bytes out: so a hit has two bytes behind it.
  template <typename What>
  unsigned hits_at(const char* p) const noexcept {
    return p <= last_block_ ? What::hits(load(p)) : hits_in_last_block<What>(p);
  }
  template <typename What>
  [[gnu::noinline]] unsigned hits_in_last_block(const char* p) const noexcept {
    return What::hits(load(last_block_)) >> (p - last_block_);
  }
  static __m128i load(const char* p) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
#endif

  const char* stop_;
  const char* last_block_;
};

/// Takes apart the field line that begins at `line`, and returns where the next line begins. The
/// places in `out` count from `base`. Null, and `out` unspecified, when there is no complete and
/// valid field line: a name that is not a token, white space before the colon (RFC 9112 §5.1), a
/// folded line (§5.2; it begins with white space, which is no token), no colon, a control character
/// in the value (RFC 9110 §5.5), another line end than CR LF.
/// REQUIRES: base <= line, and the line ends less than 64 KiB behind base.
inline const char* take_field_line(const LineScanner& scanner, const char* base, const char* line,
                                   http::FieldPlace& out) noexcept {
  // Each place is stored as soon as it is known: GCC 12 merges stores that stand together into one,
  // which takes seven instructions more than the four stores.
  const auto place = [](const char* from, const char* to) {
    return static_cast<std::uint16_t>(to - from);
  };
  out.name_at = place(base, line);
  const char* colon;
  if (const UsualName* const usual = scanner.usual_name(line)) {
    colon = line + usual->size;
    out.name_size = usual->size;
    out.name = usual->id;
  } else {
    colon = scanner.token_end(line);
    if (colon == nullptr || *colon != ':') [[unlikely]]
      return nullptr;
    if (colon == line) [[unlikely]]
      return nullptr;
    out.name_size = place(line, colon);
    out.name = http::field_name_from({line, static_cast<std::size_t>(colon - line)});
  }
  const char* value = colon + 1;
  value += *value == ' ';
  const char* const line_end = scanner.line_end(value);
  if (line_end == nullptr) [[unlikely]]
    return nullptr;
  const char* value_end = line_end;
  // Before the CR no byte is below SP but HTAB: one comparison finds white space. Usually there is
  // only the SP that was left out already.
  const auto is_white = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
  if (is_white(*value)) [[unlikely]]
    while (value != line_end && is_white(*value)) ++value;
  out.value_at = place(base, value);
  if (is_white(value_end[-1])) [[unlikely]]
    while (value_end != value && is_white(value_end[-1])) --value_end;
  out.value_size = place(value, value_end);
  return line_end + 2;
}

/// In how many bytes from a line's first one its CR must come, when `used` bytes of its section are
/// before the line and the section may have `limit` bytes, line ends included. At least 1, because
/// the empty line that ends a section is not counted.
constexpr std::size_t room_for_line(std::size_t used, std::size_t limit) noexcept {
  return limit > used + 2 ? limit - used - 1 : 1;
}

}  // namespace leantea::h1

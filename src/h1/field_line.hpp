// One field line (RFC 9112 §5): the rules that header and trailer sections share.
//
// Pure functions, any thread. Nothing outside the bytes given is read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "h1/line_scanner.hpp"
#include "http/request_head.hpp"

namespace leantea::h1 {

/// Takes apart the field line that begins at `line`, and returns where the next line begins. All places, the
/// ones in `out` too, count from `base`. 0, and `out` unspecified, when there is no complete and
/// valid field line: a name that is not a token, white space before the colon (RFC 9112 §5.1), a
/// folded line (§5.2; it begins with white space, which is no token), no colon, a control character
/// in the value (RFC 9110 §5.5), another line end than CR LF.
/// REQUIRES: the scanner has the same base, and the line ends less than 64 KiB behind it.
/// Inlined for the head parser's loop: the scanner then lives in registers.
[[gnu::always_inline]] inline std::size_t take_field_line(LineScanner& scanner, const char* base,
                                                          std::size_t line,
                                                          http::FieldPlace& out) noexcept {
  // Each place is stored as soon as it is known: GCC 12 merges stores that stand together into one,
  // which takes seven instructions more than the four stores.
  const auto place = [](std::size_t at) { return static_cast<std::uint16_t>(at); };
  out.name_at = place(line);
  std::size_t colon;
  if (const UsualName* const usual = scanner.usual_name(line)) {
    colon = line + usual->size;
    out.name_size = usual->size;
    out.name = usual->id;
  } else {
    if (scanner.at_stop(line) || base[line] == '\r') return 0;
    colon = scanner.token_end(line);
    if (colon == LineScanner::kNone || base[colon] != ':') [[unlikely]]
      return 0;
    if (colon == line) [[unlikely]]
      return 0;
    out.name_size = place(colon - line);
    out.name = http::field_name_from({base + line, colon - line});
  }
  std::size_t value = colon + 2;
  if (base[colon + 1] != ' ') [[unlikely]]
    value = colon + 1;
  const std::size_t next_line = scanner.next_line(value);
  if (next_line == 0) [[unlikely]]
    return 0;
  std::size_t value_end = next_line - 2;
  // Before the CR no byte is below SP but HTAB: one comparison finds white space. Usually there is
  // only the SP that was left out already.
  const auto is_white = [base](std::size_t at) {
    return static_cast<unsigned char>(base[at]) <= ' ';
  };
  if (is_white(value)) [[unlikely]]
    while (value != value_end && is_white(value)) ++value;
  out.value_at = place(value);
  if (is_white(value_end - 1)) [[unlikely]]
    while (value_end != value && is_white(value_end - 1)) --value_end;
  out.value_size = place(value_end - value);
  return next_line;
}

/// In how many bytes from a line's first one its CR must come, when `used` bytes of its section are
/// before the line and the section may have `limit` bytes, line ends included. At least 1, because
/// the empty line that ends a section is not counted.
constexpr std::size_t room_for_line(std::size_t used, std::size_t limit) noexcept {
  return limit > used + 2 ? limit - used - 1 : 1;
}

}  // namespace leantea::h1

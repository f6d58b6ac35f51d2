// One field line (RFC 9112 §5): the rules that header and trailer sections share.
//
// Pure functions, any thread. Nothing outside the line is read.
#pragma once

#include <cstddef>

#include "http/byte_set.hpp"

namespace leantea::h1 {

/// The parts of a field line, as offsets from its first byte. The name begins at 0.
struct FieldLine {
  std::size_t name_size;
  std::size_t value_at;
  std::size_t value_size;
};

/// Takes the line [line, end), given without its line end, apart. False when it is no field line: a
/// name that is not a token, white space before the colon (RFC 9112 §5.1), a folded line (§5.2; it
/// begins with white space, which is no token), no colon.
/// REQUIRES: the line has no control characters but HTAB.
inline bool split_field_line(const char* line, const char* end, FieldLine& out) noexcept {
  const char* const colon = http::kTokenBytes.skip(line, end);
  if (colon == line || colon == end || *colon != ':') [[unlikely]]
    return false;
  const char* value = colon + 1;
  while (value != end && (*value == ' ' || *value == '\t')) ++value;
  while (end != value && (end[-1] == ' ' || end[-1] == '\t')) --end;
  out.name_size = static_cast<std::size_t>(colon - line);
  out.value_at = static_cast<std::size_t>(value - line);
  out.value_size = static_cast<std::size_t>(end - value);
  return true;
}

/// In how many bytes from a line's first one its CR must come, when `used` bytes of its section are
/// before the line and the section may have `limit` bytes, line ends included. At least 1, because
/// the empty line that ends a section is not counted.
constexpr std::size_t room_for_line(std::size_t used, std::size_t limit) noexcept {
  return limit > used + 2 ? limit - used - 1 : 1;
}

}  // namespace leantea::h1

// The head parser (RFC 9112 §2 to §5): bytes to a RequestHead, in place, strictly, without
// allocating.
//
// Pure function, any thread. Reads only the bytes it was given.
//
// What is judged when, so that the answer does not depend on how the bytes were split: a line is
// judged when its end is there, or as soon as it holds a byte that no line may hold. A caller that
// was told kIncomplete need not call again before one of find_control()'s bytes has come, or the byte
// behind a CR, or a limit is passed; see needs_parse().
#pragma once

#include <cstdint>
#include <string_view>

#include <leantea/http.hpp>
#include <leantea/limits.hpp>

#include "http/request_head.hpp"

namespace leantea::h1 {

struct HeadResult {
  enum class Kind : std::uint8_t { kComplete, kIncomplete, kError };
  Kind kind;
  Status error = Status::kBadRequest;  ///< with kError: what to answer
  /// With kComplete: bytes taken, leading empty lines included. The head itself starts at
  /// `out.bytes`, after those.
  std::uint32_t consumed = 0;
};

/// Parses one head from the front of `in`. Checks here: leading empty lines; request line (single
/// spaces, method token, version syntax → 400, major version not 1 → 505, 1.2 to 1.9 taken as 1.1
/// (RFC 9110 §6.2), unknown method → 501);
/// target bytes; field lines (name is a token directly followed by ':', no obs-fold, no control
/// characters, CRLF only); limits (414, 431, 400); Host present exactly once in 1.1, not repeated in
/// 1.0. Not here: framing (framing.hpp) and what the target and Host mean (http/target.hpp).
/// With kError, out.method is set when the request line got as far as a method that is known.
/// REQUIRES: out.fields has out.field_capacity >= limits.header_count entries.
HeadResult parse_head(std::string_view in, const Limits& limits, http::RequestHead& out) noexcept;

/// After kIncomplete for bytes of which the last was `last`: can `fresh`, which came behind them,
/// change the answer? It can when it holds a control character, and when a CR waits for its LF.
/// Sizes are the caller's to check, with head_bytes_bound().
bool needs_parse(char last, std::string_view fresh) noexcept;

/// The same where the last byte before `fresh` is known not to be CR.
bool needs_parse(std::string_view fresh) noexcept;

/// The most bytes an incomplete head may have before it must be parsed again, to be refused.
std::uint32_t head_bytes_bound(const Limits& limits) noexcept;

}  // namespace leantea::h1

// Framing: where the content of a request ends (RFC 9112 §6). This is the one place that decides it.
//
// Pure function, any thread.
#pragma once

#include <cstdint>
#include <expected>

#include <leantea/http.hpp>

#include "http/request_head.hpp"

namespace leantea::h1 {

struct Framing {
  enum class Kind : std::uint8_t { kNone, kLength, kChunked };
  Kind kind = Kind::kNone;
  std::uint64_t length = 0;  ///< with kLength; never 0 (that is kNone)
};

/// RFC 9112 §6.3, strictly: Transfer-Encoding with Content-Length → 400; Transfer-Encoding in
/// HTTP/1.0 → 400; a coding other than one final "chunked" → 501 for unknown codings, 400 for
/// chunked that is not final, repeated, or empty members; Content-Length that is not 1*DIGIT, is
/// repeated, a list or overflows 64 bits → 400.
std::expected<Framing, Status> decide_framing(const http::RequestHead& head) noexcept;

/// What the request says about its connection (RFC 9112 §9.3): true when it may go on after the
/// answer.
bool wants_keep_alive(const http::RequestHead& head) noexcept;

}  // namespace leantea::h1

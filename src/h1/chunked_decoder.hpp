// ChunkedDecoder: the chunked transfer coding of requests (RFC 9112 §7.1), one state per body.
//
// One thread. Holds no buffers but the trailer section that its owner lends: content is shown in
// place. A few bytes of state, so that it can live in every connection.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <leantea/http.hpp>
#include <leantea/limits.hpp>

namespace leantea::h1 {

struct DecodeStep {
  enum class Kind : std::uint8_t {
    kContent,   ///< `content` is the next part of the content, not empty, inside the bytes given
    kNeedMore,  ///< all bytes were taken
    kEnd,       ///< the message ended; bytes behind it were not taken
    kError,     ///< answer `error` and close
  };
  Kind kind;
  Status error = Status::kBadRequest;
  std::string_view content;
};

class ChunkedDecoder {
 public:
  void reset() noexcept { *this = ChunkedDecoder{}; }

  /// Takes bytes off the front of `in` up to the next thing to say. Trailer field lines are appended
  /// to `trailers` as "name: value\r\n", checked (RFC 9112 §7.1.2; forbidden ones → 400); the caller
  /// gives the same string for all of a body. Bare LF, signs, empty or overlong sizes, overflow,
  /// white space where the grammar has none, junk after chunk data → 400. Extension syntax is
  /// checked; over limits.chunk_extension_bytes → 413, over limits.trailer_bytes → 431.
  /// The answer does not depend on how the bytes were split.
  DecodeStep next(std::string_view& in, const Limits& limits, std::string& trailers) noexcept;

 private:
  enum class State : std::uint8_t { kSizeStart };  // the implementation's states
  std::uint64_t left_ = 0;
  std::uint32_t line_bytes_ = 0;
  State state_ = State::kSizeStart;
};

}  // namespace leantea::h1

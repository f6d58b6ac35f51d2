// ChunkedDecoder: the chunked transfer coding of requests (RFC 9112 §7.1), one state per body.
//
// One thread. Holds no buffers but the trailer section that its owner lends: content is shown in
// place. A few bytes of state, so that it can live in every connection.
#pragma once

#include <cstdint>
#include <optional>
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
  /// gives the same string for all of a body, and does not look at it before kEnd: the line that is
  /// being received is kept there too. Bare LF, signs, empty or overlong sizes, overflow,
  /// white space where the grammar has none, junk after chunk data → 400. Extension syntax is
  /// checked; over limits.chunk_extension_bytes → 413, over limits.trailer_bytes → 431.
  /// The answer does not depend on how the bytes were split. After kEnd or kError it stays the same
  /// until reset().
  DecodeStep next(std::string_view& in, const Limits& limits, std::string& trailers) noexcept;

  /// Bytes of the present chunk that have not come yet: what the client has announced, so that a
  /// body that will be too large can be refused before it is sent.
  std::uint64_t announced() const noexcept { return state_ == State::kData ? left_ : 0; }

 private:
  enum class State : std::uint8_t {
    kSizeStart,        // before the first digit of a chunk size
    kSize,             // behind at least one digit
    kBeforeSemicolon,  // white space where only a further extension may follow
    kExtName0,         // before the name of an extension
    kExtName,
    kBeforeEquals,  // white space behind the name of an extension
    kExtValue0,     // before the value of an extension
    kExtValue,
    kExtQuoted,
    kExtEscaped,  // behind a backslash in a quoted value
    kAfterQuoted,
    kSizeLf,  // behind the CR of a chunk size line
    kData,
    kDataCr,  // behind the data of a chunk
    kDataLf,
    kTrailerLine,
    kTrailerLf,  // behind the CR of a line of the trailer section
    kEnd,
    kFailed,
  };

  std::optional<Status> take_size_line(std::string_view& in, const Limits& limits) noexcept;
  bool add_digit(char c) noexcept;
  State after_size_byte(char c) const noexcept;
  std::optional<Status> take_trailer_text(std::string_view& in, const Limits& limits,
                                          std::string& trailers) noexcept;
  std::optional<Status> end_trailer_line(std::string& trailers) noexcept;

  std::uint64_t left_ = 0;        ///< of the chunk; in the trailer section: its bytes so far
  std::uint32_t line_bytes_ = 0;  ///< digits of the size, then bytes of extensions; in the trailer
      ///< section: bytes of the unfinished line at the end of `trailers`
  State state_ = State::kSizeStart;
  Status error_ = Status::kBadRequest;
};

}  // namespace leantea::h1

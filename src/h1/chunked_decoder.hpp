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
  /// What comes next. Up to kSizeLf in the order of a chunk size line (§7.1, §7.1.1).
  enum class State : std::uint8_t {
    kSizeStart,        ///< the first digit of a chunk size
    kSize,             ///< a digit, or what may stand behind a size
    kBeforeSemicolon,  ///< white space that a further extension must follow
    kBeforeName,       ///< the name of an extension, perhaps with white space in front
    kName,             ///< the rest of it, or what may stand behind it
    kBeforeEquals,     ///< white space behind a name
    kBeforeValue,      ///< the value of an extension, perhaps with white space in front
    kValue,            ///< the rest of a token, or what may stand behind it
    kQuoted,           ///< the rest of a quoted string
    kEscaped,          ///< what a backslash in it is for
    kAfterQuoted,      ///< what may stand behind a quoted string
    kSizeLf,           ///< the LF of the chunk size line
    kData,
    kDataCr,
    kDataLf,
    kTrailerLine,  ///< a line of the trailer section up to its CR
    kTrailerLf,
    kEnd,
    kFailed,
  };

  std::optional<Status> take_size_line(std::string_view& in, const Limits& limits) noexcept;
  bool add_digit(char c) noexcept;
  State after_size_byte(char c) const noexcept;
  std::optional<Status> take_trailer_text(std::string_view& in, const Limits& limits,
                                          std::string& trailers) noexcept;
  std::optional<Status> end_trailer_line(std::string& trailers) noexcept;

  /// Of the chunk's data; in the trailer section: its bytes so far.
  std::uint64_t left_ = 0;
  /// Of the chunk size line: first its digits, then the bytes of its extensions. In the trailer
  /// section: bytes of the unfinished line, which stand at the end of `trailers`.
  std::uint32_t line_bytes_ = 0;
  State state_ = State::kSizeStart;
  Status error_ = Status::kBadRequest;
};

}  // namespace leantea::h1

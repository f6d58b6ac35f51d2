#include "h1/chunked_decoder.hpp"

#include <algorithm>

#include "base/scan.hpp"
#include "h1/field_line.hpp"
#include "http/byte_set.hpp"
#include "http/field_name.hpp"

namespace leantea::h1 {
namespace {

// A size of 64 bits has 16 digits. Leading zeros are legal (RFC 9112 §7.1), but nobody needs many.
constexpr std::uint32_t kMaxSizeDigits = 64;

constexpr bool is_white_space(char c) noexcept { return c == ' ' || c == '\t'; }

/// What may stand behind a backslash in a quoted string (RFC 9110 §5.6.4): HTAB, SP, VCHAR, obs-text.
constexpr bool is_text(char c) noexcept {
  return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
}

}  // namespace

DecodeStep ChunkedDecoder::next(std::string_view& in, const Limits& limits,
                                std::string& trailers) noexcept {
  using Kind = DecodeStep::Kind;
  const auto fail = [this](Status status) {
    state_ = State::kFailed;
    error_ = status;
    return DecodeStep{.kind = Kind::kError, .error = status, .content = {}};
  };
  const auto say = [](Kind kind) { return DecodeStep{.kind = kind, .content = {}}; };
  /// Takes the one byte that must come next.
  const auto take = [&](char expected, State then) {
    if (in.front() != expected) return false;
    in.remove_prefix(1);
    state_ = then;
    return true;
  };

  for (;;) {
    if (state_ == State::kEnd) return say(Kind::kEnd);
    if (state_ == State::kFailed) return fail(error_);
    if (in.empty()) return say(Kind::kNeedMore);
    switch (state_) {
      case State::kData: {
        const std::string_view content =
            in.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size())));
        in.remove_prefix(content.size());
        left_ -= content.size();
        if (left_ == 0) state_ = State::kDataCr;
        return {.kind = Kind::kContent, .content = content};
      }
      case State::kDataCr:
        if (!take('\r', State::kDataLf)) return fail(Status::kBadRequest);
        break;
      case State::kDataLf:
        if (!take('\n', State::kSizeStart)) return fail(Status::kBadRequest);
        break;
      case State::kSizeLf:
        // A last-chunk has no data, and what follows it is the trailer section.
        if (!take('\n', left_ == 0 ? State::kTrailerLine : State::kData))
          return fail(Status::kBadRequest);
        line_bytes_ = 0;
        break;
      case State::kTrailerLine:
        if (const auto error = take_trailer_text(in, limits, trailers)) return fail(*error);
        break;
      case State::kTrailerLf:
        if (!take('\n', State::kTrailerLine)) return fail(Status::kBadRequest);
        if (const auto error = end_trailer_line(trailers)) return fail(*error);
        break;
      default:
        if (const auto error = take_size_line(in, limits)) return fail(*error);
    }
  }
}

// ---- chunk-size [ chunk-ext ] CR ----

std::optional<Status> ChunkedDecoder::take_size_line(std::string_view& in,
                                                     const Limits& limits) noexcept {
  while (!in.empty() && state_ != State::kSizeLf) {
    const char c = in.front();
    in.remove_prefix(1);
    if (state_ <= State::kSize) {
      if (http::kHexDigits.has(c)) {
        if (!add_digit(c)) return Status::kBadRequest;
        continue;
      }
      if (state_ == State::kSizeStart) return Status::kBadRequest;
      line_bytes_ = 0;  // from here on it counts the bytes of extensions
    }
    const State then = after_size_byte(c);
    if (then == State::kFailed) return Status::kBadRequest;
    if (then != State::kSizeLf && ++line_bytes_ > limits.chunk_extension_bytes)
      return Status::kContentTooLarge;
    state_ = then;
  }
  return std::nullopt;
}

bool ChunkedDecoder::add_digit(char c) noexcept {
  if (state_ == State::kSizeStart) {
    left_ = 0;
    line_bytes_ = 0;
    state_ = State::kSize;
  }
  if (++line_bytes_ > kMaxSizeDigits || left_ >> 60 != 0) return false;
  left_ = left_ << 4 | http::hex_value(c);
  return true;
}

/// RFC 9112 §7.1.1:
///   chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] )
/// where a value is a token or a quoted string. White space that leads to neither ';' nor '=' is not
/// in the grammar, and so is refused. The line ends at its CR, quoted or not.
ChunkedDecoder::State ChunkedDecoder::after_size_byte(char c) const noexcept {
  switch (state_) {
    case State::kSize:
    case State::kValue:
    case State::kAfterQuoted:
      if (c == '\r') return State::kSizeLf;
      if (c == ';') return State::kBeforeName;
      if (is_white_space(c)) return State::kBeforeSemicolon;
      return state_ == State::kValue && http::kTokenBytes.has(c) ? state_ : State::kFailed;
    case State::kBeforeSemicolon:
      if (is_white_space(c)) return state_;
      return c == ';' ? State::kBeforeName : State::kFailed;
    case State::kBeforeName:
      if (is_white_space(c)) return state_;
      return http::kTokenBytes.has(c) ? State::kName : State::kFailed;
    case State::kName:
      if (http::kTokenBytes.has(c)) return state_;
      if (c == '\r') return State::kSizeLf;
      [[fallthrough]];
    case State::kBeforeEquals:
      if (is_white_space(c)) return State::kBeforeEquals;
      if (c == '=') return State::kBeforeValue;
      return c == ';' ? State::kBeforeName : State::kFailed;
    case State::kBeforeValue:
      if (is_white_space(c)) return state_;
      if (c == '"') return State::kQuoted;
      return http::kTokenBytes.has(c) ? State::kValue : State::kFailed;
    case State::kQuoted:
      if (c == '"') return State::kAfterQuoted;
      if (c == '\\') return State::kEscaped;
      return is_text(c) ? state_ : State::kFailed;
    case State::kEscaped:
      return is_text(c) ? State::kQuoted : State::kFailed;
    default:
      return State::kFailed;
  }
}

// ---- Trailer section (RFC 9112 §7.1.2) ----

/// Takes the text of a line up to its CR into the end of `trailers`, where the line is made whole.
std::optional<Status> ChunkedDecoder::take_trailer_text(std::string_view& in, const Limits& limits,
                                                        std::string& trailers) noexcept {
  const auto used = static_cast<std::size_t>(left_) - line_bytes_;
  const std::size_t room = room_for_line(used, limits.trailer_bytes) - line_bytes_;
  const std::size_t window = std::min(room, in.size());
  const char* const stop = in.data() + window;
  const char* const text_end = base::find_control(in.data(), stop);
  const auto size = static_cast<std::size_t>(text_end - in.data());
  if (size == room) return Status::kRequestHeaderFieldsTooLarge;
  if (text_end != stop && *text_end != '\r') return Status::kBadRequest;
  trailers.append(in.data(), size);
  left_ += size;
  line_bytes_ += static_cast<std::uint32_t>(size);
  in.remove_prefix(size);
  if (text_end != stop) {
    in.remove_prefix(1);
    state_ = State::kTrailerLf;
  }
  return std::nullopt;
}

/// The line at the end of `trailers` is complete: judges it and brings it into its final form.
std::optional<Status> ChunkedDecoder::end_trailer_line(std::string& trailers) noexcept {
  if (line_bytes_ == 0) {
    state_ = State::kEnd;
    return std::nullopt;
  }
  const std::size_t at = trailers.size() - line_bytes_;
  // The scanner wants more than a short line has behind its beginning.
  static constexpr std::string_view kEndAndPadding = "\r\n                ";
  static_assert(kEndAndPadding.size() >= LineScanner::kReadableBytes);
  trailers += kEndAndPadding;
  const char* const line = trailers.data() + at;
  LineScanner scanner{line, 0, trailers.size() - at};
  http::FieldPlace place;
  if (take_field_line(scanner, line, 0, place) == 0) return Status::kBadRequest;
  if (http::forbidden_in_trailers({line, place.name_size})) return Status::kBadRequest;
  trailers.resize(at + place.value_at + place.value_size);
  trailers.replace(at + place.name_size, place.value_at - place.name_size, ": ");
  trailers += "\r\n";
  left_ += 2;
  line_bytes_ = 0;
  return std::nullopt;
}

}  // namespace leantea::h1

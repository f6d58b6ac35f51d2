#include "h1/head_parser.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/assert.hpp"
#include "base/scan.hpp"
#include "h1/field_line.hpp"
#include "http/byte_set.hpp"

namespace leantea::h1 {
namespace {

using http::FieldName;
using http::FieldPlace;
using http::RequestHead;

constexpr std::size_t kVersionSize = 8;  // "HTTP/1.1"
constexpr std::string_view kLineEnd = "\r\n";
// A longer first word is no method that anybody implements: 501 (RFC 9112 §3), without waiting for
// its end.
constexpr std::size_t kMaxMethodSize =
    http::kRequestLineOverhead - kVersionSize - 2 - kLineEnd.size();

constexpr HeadResult error(Status status) noexcept {
  return {.kind = HeadResult::Kind::kError, .error = status};
}
constexpr HeadResult kMalformed = error(Status::kBadRequest);
constexpr HeadResult kMore = {.kind = HeadResult::Kind::kIncomplete};

std::size_t distance(const char* from, const char* to) noexcept {
  return static_cast<std::size_t>(to - from);
}

/// What stands at the end of a line.
enum class LineEnd : std::uint8_t { kHere, kCut, kBad };

/// Judges the control character at `p`: only CR LF ends a line (RFC 9112 §2.2).
LineEnd judge_line_end(const char* p, const char* end) noexcept {
  if (*p != '\r') return LineEnd::kBad;
  if (p + 1 == end) return LineEnd::kCut;
  return p[1] == '\n' ? LineEnd::kHere : LineEnd::kBad;
}

// ---- Request line (RFC 9112 §3) ----

const char* find_space(const char* p, const char* end) noexcept {
  return static_cast<const char*>(std::memchr(p, ' ', distance(p, end)));
}

bool is_token(std::string_view text) noexcept {
  const char* const end = text.data() + text.size();
  return !text.empty() && http::kTokenBytes.skip(text.data(), end) == end;
}

/// HTTP-version = "HTTP/" DIGIT "." DIGIT (RFC 9112 §2.3). Sets `version`, or says what is wrong.
std::optional<Status> judge_version(std::string_view text, Version& version) noexcept {
  if (text.size() != kVersionSize || !text.starts_with("HTTP/") || text[6] != '.' ||
      !http::kDigits.has(text[5]) || !http::kDigits.has(text[7]))
    return Status::kBadRequest;
  if (text[5] != '1') return Status::kHttpVersionNotSupported;
  // RFC 9110 §6.2: a higher minor version is handled as the highest one that is known.
  version = text[7] == '0' ? Version::kHttp10 : Version::kHttp11;
  return std::nullopt;
}

/// Judges the request line at `line`, of which [line, end) has come. On kComplete, `consumed` is its
/// size with the line end.
///
/// Its parts are judged from left to right, each against its own limit and only by the bytes up to
/// that limit: so the answer is the same however much of the line has come already.
HeadResult parse_request_line(const char* line, const char* end, const Limits& limits,
                              RequestHead& out) noexcept {
  const std::size_t longest = http::kRequestLineOverhead + limits.target_bytes;
  const char* const stop = line + std::min(distance(line, end), longest);
  const char* const text_end = base::find_control(line, stop);
  const bool ended = text_end != stop;
  const LineEnd line_end = ended ? judge_line_end(text_end, end) : LineEnd::kCut;
  // What to say about a part that is not complete and may still become good.
  const HeadResult unfinished = line_end == LineEnd::kCut ? kMore : kMalformed;

  const char* const method_stop = line + std::min(distance(line, text_end), kMaxMethodSize + 1);
  const char* const method_end = find_space(line, method_stop);
  if (method_end == nullptr) {
    if (distance(line, text_end) <= kMaxMethodSize) return unfinished;
    return is_token({line, kMaxMethodSize}) ? error(Status::kNotImplemented) : kMalformed;
  }
  const std::string_view method{line, distance(line, method_end)};

  const char* const target = method_end + 1;
  const std::size_t target_room = std::size_t{limits.target_bytes} + 1;
  const char* const target_stop = target + std::min(distance(target, text_end), target_room);
  const char* const target_end = find_space(target, target_stop);
  if (target_end == nullptr) {
    if (distance(target, text_end) < target_room) return unfinished;  // HTTP/0.9 is not spoken
    return is_token(method) ? error(Status::kUriTooLong) : kMalformed;
  }

  const std::string_view version{target_end + 1, distance(target_end + 1, text_end)};
  if (version.size() > kVersionSize) return kMalformed;
  if (line_end != LineEnd::kHere) return unfinished;
  if (!is_token(method) || target_end == target) return kMalformed;
  if (const auto wrong = judge_version(version, out.version)) return error(*wrong);
  const std::optional<Method> known = method_from(method);
  if (!known) return error(Status::kNotImplemented);
  out.method = *known;
  out.target_at = static_cast<std::uint16_t>(distance(line, target));
  out.target_size = static_cast<std::uint16_t>(distance(target, target_end));
  return {.kind = HeadResult::Kind::kComplete,
          .consumed = static_cast<std::uint32_t>(distance(line, text_end) + kLineEnd.size())};
}

// ---- Field lines (RFC 9112 §5) ----

void add_field(RequestHead& out, std::size_t line_at, const FieldLine& line) noexcept {
  FieldPlace& field = out.fields[out.field_count++];
  field.name_at = static_cast<std::uint16_t>(line_at);
  field.name_size = static_cast<std::uint16_t>(line.name_size);
  field.value_at = static_cast<std::uint16_t>(line_at + line.value_at);
  field.value_size = static_cast<std::uint16_t>(line.value_size);
  field.name = http::field_name_from({out.bytes + line_at, line.name_size});
  if (out.present.has(field.name)) out.repeated.add(field.name);
  out.present.add(field.name);
}

/// Judges the field lines from `p` on and the empty line behind them. On kComplete, `consumed` is
/// their size.
HeadResult parse_field_lines(const char* p, const char* end, const Limits& limits,
                             RequestHead& out) noexcept {
  const char* const section = p;
  for (;;) {
    const std::size_t used = distance(section, p);
    const std::size_t room = room_for_line(used, limits.header_bytes);
    const char* const stop = p + std::min(distance(p, end), room);
    const char* const text_end = base::find_control(p, stop);
    if (text_end == stop)
      return distance(p, stop) == room ? error(Status::kRequestHeaderFieldsTooLarge) : kMore;
    const LineEnd line_end = judge_line_end(text_end, end);
    if (line_end != LineEnd::kHere) return line_end == LineEnd::kCut ? kMore : kMalformed;
    if (text_end == p)
      return {.kind = HeadResult::Kind::kComplete,
              .consumed = static_cast<std::uint32_t>(used + kLineEnd.size())};
    if (out.field_count == limits.header_count) return error(Status::kRequestHeaderFieldsTooLarge);
    FieldLine line;
    if (!split_field_line(p, text_end, line)) return kMalformed;
    add_field(out, distance(out.bytes, p), line);
    p = text_end + kLineEnd.size();
  }
}

/// RFC 9112 §2.2: empty lines ahead of a request line. On kComplete, `consumed` is their size.
HeadResult skip_empty_lines(std::string_view in, const Limits& limits) noexcept {
  std::uint32_t at = 0;
  for (std::uint32_t lines = 0; at < in.size() && in[at] == '\r'; ++lines) {
    if (lines == limits.leading_empty_lines) return kMalformed;
    if (at + 1 == in.size()) return kMore;
    if (in[at + 1] != '\n') return kMalformed;
    at += 2;
  }
  return {.kind = HeadResult::Kind::kComplete, .consumed = at};
}

/// RFC 9112 §3.2: exactly one Host in HTTP/1.1, at most one in HTTP/1.0.
bool has_the_hosts_it_must(const RequestHead& head) noexcept {
  if (head.repeated.has(FieldName::kHost)) return false;
  return head.version == Version::kHttp10 || head.present.has(FieldName::kHost);
}

}  // namespace

HeadResult parse_head(std::string_view in, const Limits& limits, RequestHead& out) noexcept {
  LEANTEA_ASSERT(out.field_capacity >= limits.header_count);
  const HeadResult empty_lines = skip_empty_lines(in, limits);
  if (empty_lines.kind != HeadResult::Kind::kComplete) return empty_lines;
  const char* const begin = in.data() + empty_lines.consumed;
  const char* const end = in.data() + in.size();

  out.bytes = begin;
  out.field_count = 0;
  out.present.clear();
  out.repeated.clear();

  const HeadResult request_line = parse_request_line(begin, end, limits, out);
  if (request_line.kind != HeadResult::Kind::kComplete) return request_line;
  const HeadResult fields = parse_field_lines(begin + request_line.consumed, end, limits, out);
  if (fields.kind != HeadResult::Kind::kComplete) return fields;
  if (!has_the_hosts_it_must(out)) return kMalformed;

  const std::uint32_t size = request_line.consumed + fields.consumed;
  LEANTEA_ASSERT(size <= UINT16_MAX);  // Limits::check() sees to it
  out.size = static_cast<std::uint16_t>(size);
  return {.kind = HeadResult::Kind::kComplete, .consumed = empty_lines.consumed + size};
}

bool needs_parse(std::string_view fresh) noexcept {
  const char* const end = fresh.data() + fresh.size();
  return base::find_control(fresh.data(), end) != end;
}

std::uint32_t head_bytes_bound(const Limits& limits) noexcept {
  return 2u * limits.leading_empty_lines + http::kRequestLineOverhead + limits.target_bytes +
         limits.header_bytes + static_cast<std::uint32_t>(kLineEnd.size());
}

}  // namespace leantea::h1

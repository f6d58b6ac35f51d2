#include "h1/head_parser.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "base/assert.hpp"
#include "base/load_word.hpp"
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

// "GET / HTTP/1.1" and its line end: no method that is known is shorter.
constexpr std::size_t kSmallestRequestLine = 3 + 1 + 1 + 1 + kVersionSize + kLineEnd.size();

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
  return std::char_traits<char>::find(p, distance(p, end), ' ');  // memchr, but of no bytes, too
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
[[gnu::noinline, gnu::cold]] HeadResult parse_request_line(const char* line, const char* end,
                                                           const Limits& limits,
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
    return http::is_token({line, kMaxMethodSize}) ? error(Status::kNotImplemented) : kMalformed;
  }
  const std::string_view method{line, distance(line, method_end)};
  const std::optional<Method> known = method_from(method);
  if (known) out.method = *known;  // also for errors: the answer to HEAD has no content

  const char* const target = method_end + 1;
  const std::size_t target_room = std::size_t{limits.target_bytes} + 1;
  const char* const target_stop = target + std::min(distance(target, text_end), target_room);
  const char* const target_end = find_space(target, target_stop);
  if (target_end == nullptr) {
    if (distance(target, text_end) < target_room) return unfinished;  // HTTP/0.9 is not spoken
    return http::is_token(method) ? error(Status::kUriTooLong) : kMalformed;
  }

  const std::string_view version{target_end + 1, distance(target_end + 1, text_end)};
  if (version.size() > kVersionSize) return kMalformed;
  if (line_end != LineEnd::kHere) return unfinished;
  if (!http::is_token(method) || target_end == target) return kMalformed;
  if (const auto wrong = judge_version(version, out.version)) return error(*wrong);
  if (!known) return error(Status::kNotImplemented);
  out.plain_path = false;  // or true, but it is not known
  out.target_at = static_cast<std::uint16_t>(distance(line, target));
  out.target_size = static_cast<std::uint16_t>(distance(target, target_end));
  return {.kind = HeadResult::Kind::kComplete,
          .consumed = static_cast<std::uint32_t>(distance(line, text_end) + kLineEnd.size())};
}

/// Four characters as the word they are in memory.
consteval std::uint32_t word(const char (&text)[5]) {
  return std::bit_cast<std::uint32_t>(std::array<char, 4>{text[0], text[1], text[2], text[3]});
}
consteval std::uint64_t word(const char (&text)[9]) {
  return std::bit_cast<std::uint64_t>(
      std::array<char, 8>{text[0], text[1], text[2], text[3], text[4], text[5], text[6], text[7]});
}

/// Takes a request line of the kind nearly all are, whole, and returns its size; 0 for all others,
/// which parse_request_line() judges. Four comparisons of words instead of some hundred instructions
/// for the general case.
[[gnu::always_inline]] inline std::size_t take_usual_request_line(const char* line, const char* end,
                                                                  const Limits& limits,
                                                                  RequestHead& out) noexcept {
  if (distance(line, end) < kSmallestRequestLine) [[unlikely]]
    return 0;

  Method method = Method::kGet;
  const char* target = line + 4;
  switch (base::load_word<std::uint32_t>(line)) {
    case word("GET "):
      break;
    case word("PUT "):
      method = Method::kPut;
      break;
    case word("POST"):
      method = Method::kPost;
      if (*target++ != ' ') return 0;
      break;
    case word("HEAD"):
      method = Method::kHead;
      if (*target++ != ' ') return 0;
      break;
    default:
      return 0;
  }
  const auto ends_at = [end](const char* p) {
    return distance(p, end) >= 1 + kVersionSize + kLineEnd.size() && *p == ' ';
  };
  const char* target_end = http::kPlainPathBytes.skip(target, end);
  const bool plain = ends_at(target_end) && *target == '/';
  if (!plain) [[unlikely]] {
    target_end = http::kVisibleBytes.skip(target_end, end);
    if (target_end == target || !ends_at(target_end)) return 0;
  }
  const std::size_t target_size = distance(target, target_end);
  if (target_size > limits.target_bytes) [[unlikely]]
    return 0;
  Version version;
  switch (base::load_word<std::uint64_t>(target_end + 1)) {
    case word("HTTP/1.1"):
      version = Version::kHttp11;
      break;
    case word("HTTP/1.0"):
      version = Version::kHttp10;
      break;
    default:
      return 0;
  }
  const char* const text_end = target_end + 1 + kVersionSize;
  if (!is_crlf(text_end)) [[unlikely]]
    return 0;
  out.method = method;
  out.version = version;
  out.plain_path = plain;
  out.target_at = static_cast<std::uint16_t>(distance(line, target));
  out.target_size = static_cast<std::uint16_t>(target_size);
  return distance(line, text_end) + kLineEnd.size();
}

// ---- Field lines (RFC 9112 §5) ----

/// Notes which names came, in registers while the lines are read.
class NamesSeen {
 public:
  void add(FieldName name, std::size_t index, RequestHead& head) noexcept {
    if (name == FieldName::kOther) return;
    if (present_.has(name)) {
      repeated_.add(name);
      return;
    }
    present_.add(name);
    head.first[static_cast<std::size_t>(name)] = static_cast<std::uint8_t>(index);
  }
  void store(RequestHead& head) const noexcept {
    head.present = present_;
    head.repeated = repeated_;
  }

 private:
  http::FieldNameSet present_;
  http::FieldNameSet repeated_;
};
static_assert(Limits::kMaxHeaderCount - 1 <= UINT8_MAX);  // RequestHead::first

/// Judges a line that is neither empty nor a good field line, or that is not complete: [line, end)
/// has come of it, and its CR had to come in `room` bytes.
[[gnu::noinline, gnu::cold]] HeadResult judge_other_line(const char* line, const char* end,
                                                         std::size_t room) noexcept {
  const char* const stop = line + std::min(distance(line, end), room);
  const char* const text_end = base::find_control(line, stop);
  if (text_end == stop)
    return distance(line, stop) == room ? error(Status::kRequestHeaderFieldsTooLarge) : kMore;
  return judge_line_end(text_end, end) == LineEnd::kCut ? kMore : kMalformed;
}

/// Judges the field lines from `section` on and the empty line behind them, places counted from out.bytes,
/// up to `end`. On kComplete, `consumed` is their size.
[[gnu::always_inline]] inline HeadResult parse_field_lines(std::size_t section, std::size_t end,
                                                           const Limits& limits,
                                                           RequestHead& out) noexcept {
  static_assert(kSmallestRequestLine + kLineEnd.size() >= LineScanner::kReadableBytes);
  const char* const begin = out.bytes;
  // No field line ends behind this.
  const std::size_t stop = section + std::min<std::size_t>(end - section, limits.header_bytes);
  if (stop - section < kLineEnd.size()) [[unlikely]]
    return judge_other_line(begin + section, begin + end, room_for_line(0, limits.header_bytes));
  LineScanner scanner{begin, section, stop};
  NamesSeen names;
  const std::size_t most = limits.header_count;
  std::size_t count = 0;
  FieldPlace* next = out.fields;
  std::size_t line = section;
  while (count != most) {
    const std::size_t next_line = take_field_line(scanner, begin, line, *next);
    if (next_line == 0) break;
    names.add(next->name, count, out);
    ++count;
    ++next;
    line = next_line;
  }
  const std::size_t used = line - section;
  if (end - line < kLineEnd.size() || !is_crlf(begin + line)) [[unlikely]] {
    FieldPlace one_too_many;
    if (count == most && take_field_line(scanner, begin, line, one_too_many) != 0)
      return error(Status::kRequestHeaderFieldsTooLarge);
    return judge_other_line(begin + line, begin + end, room_for_line(used, limits.header_bytes));
  }
  out.field_count = static_cast<std::uint16_t>(count);
  names.store(out);
  return {.kind = HeadResult::Kind::kComplete,
          .consumed = static_cast<std::uint32_t>(used + kLineEnd.size())};
}

/// RFC 9112 §2.2: empty lines ahead of a request line. On kComplete, `consumed` is their size.
[[gnu::noinline, gnu::cold]] HeadResult skip_empty_lines(std::string_view in,
                                                         const Limits& limits) noexcept {
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
  std::uint32_t empty_lines_size = 0;
  if (!in.empty() && in.front() == '\r') [[unlikely]] {
    const HeadResult empty_lines = skip_empty_lines(in, limits);
    if (empty_lines.kind != HeadResult::Kind::kComplete) return empty_lines;
    empty_lines_size = empty_lines.consumed;
  }
  const char* const begin = in.data() + empty_lines_size;
  const char* const end = in.data() + in.size();

  out.bytes = begin;
  std::size_t request_line_size = take_usual_request_line(begin, end, limits, out);
  if (request_line_size == 0) [[unlikely]] {
    const HeadResult request_line = parse_request_line(begin, end, limits, out);
    if (request_line.kind != HeadResult::Kind::kComplete) return request_line;
    request_line_size = request_line.consumed;
  }
  const HeadResult fields = parse_field_lines(request_line_size, distance(begin, end), limits, out);
  if (fields.kind != HeadResult::Kind::kComplete) [[unlikely]]
    return fields;
  if (!has_the_hosts_it_must(out)) [[unlikely]]
    return kMalformed;

  const std::size_t size = request_line_size + fields.consumed;
  LEANTEA_ASSERT(size <= UINT16_MAX);  // Limits::check() sees to it
  out.size = static_cast<std::uint16_t>(size);
  return {.kind = HeadResult::Kind::kComplete,
          .consumed = empty_lines_size + static_cast<std::uint32_t>(size)};
}

bool needs_parse(char last, std::string_view fresh) noexcept {
  return (last == '\r' && !fresh.empty()) || needs_parse(fresh);
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

#include "http/target.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/assert.hpp"
#include "http/ascii.hpp"
#include "http/byte_set.hpp"

namespace leantea::http {
namespace {

// RFC 3986 §3.3: pchar = unreserved / pct-encoded / sub-delims / ":" / "@". The '%' is judged apart.
constexpr ByteSet kPathBytes = kUnreservedAndSubDelims.with(":@/");
// RFC 3986 §3.4: query = *( pchar / "/" / "?" ).
constexpr ByteSet kQueryBytes = kPathBytes.with("?");

constexpr auto kInvalid = std::unexpected(Status::kBadRequest);

constexpr bool is_control(unsigned octet) noexcept { return octet < 0x20 || octet == 0x7f; }

/// True when a percent-encoding (RFC 3986 §2.1) is whole. REQUIRES: p != end and *p == '%'.
bool is_percent_encoding(const char* p, const char* end) noexcept {
  return end - p >= 3 && kHexDigits.has(p[1]) && kHexDigits.has(p[2]);
}

unsigned percent_decoded(const char* p) noexcept { return hex_value(p[1]) << 4 | hex_value(p[2]); }

// ---- Authority (RFC 3986 §3.2) ----

/// h16 = 1*4HEXDIG; the end of it, or null.
const char* skip_group(const char* p, const char* end) noexcept {
  const char* digits_end = p;
  while (digits_end != end && digits_end - p < 4 && kHexDigits.has(*digits_end)) ++digits_end;
  return digits_end == p ? nullptr : digits_end;
}

/// IPv4address: four dec-octets without leading zeros.
bool valid_ipv4(std::string_view text) noexcept {
  for (int part = 0; part < 4; ++part) {
    if (part > 0) {
      if (text.empty() || text.front() != '.') return false;
      text.remove_prefix(1);
    }
    unsigned value = 0;
    std::size_t digits = 0;
    while (digits < text.size() && digits < 3 && kDigits.has(text[digits]))
      value = value * 10 + hex_value(text[digits++]);
    if (digits == 0 || value > 255 || (digits > 1 && text.front() == '0')) return false;
    text.remove_prefix(digits);
  }
  return text.empty();
}

/// IPv6address: eight groups of 16 bits, the last two also as an IPv4 address; one "::" for one or
/// more of them.
bool valid_ipv6(std::string_view text) noexcept {
  const char* p = text.data();
  const char* const end = p + text.size();
  int groups = 0;
  bool shortened = false;
  if (text.starts_with("::")) {
    shortened = true;
    p += 2;
  }
  while (p != end) {
    const char* const group_end = skip_group(p, end);
    if (group_end == nullptr) return false;
    if (group_end != end && *group_end == '.') {
      groups += 2;
      if (!valid_ipv4({p, static_cast<std::size_t>(end - p)})) return false;
      break;
    }
    ++groups;
    p = group_end;
    if (p == end) break;
    if (*p++ != ':') return false;
    if (p != end && *p == ':') {
      if (shortened) return false;
      shortened = true;
      ++p;
    } else if (p == end) {
      return false;  // a single ':' at the end
    }
  }
  return shortened ? groups <= 7 : groups == 8;
}

/// IPvFuture = "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" ).
bool valid_ip_future(std::string_view text) noexcept {
  static constexpr ByteSet kAddressBytes = kUnreservedAndSubDelims.with(":");
  if (text.empty() || to_lower(text.front()) != 'v') return false;
  const char* const end = text.data() + text.size();
  const char* const version = text.data() + 1;
  const char* const dot = kHexDigits.skip(version, end);
  if (dot == version || dot == end || *dot != '.' || dot + 1 == end) return false;
  return kAddressBytes.skip(dot + 1, end) == end;
}

/// The end of the host at the front of [p, end), or null when there is no valid one. An empty host
/// is none: http URIs do not have it (RFC 9110 §4.2.1).
[[gnu::noinline, gnu::cold]] const char* skip_unusual_host(const char* p,
                                                           const char* end) noexcept {
  if (p != end && *p == '[') {
    const auto* const close =
        static_cast<const char*>(std::memchr(p, ']', static_cast<std::size_t>(end - p)));
    if (close == nullptr) return nullptr;
    const std::string_view literal{p + 1, static_cast<std::size_t>(close - p - 1)};
    return !literal.empty() && (valid_ipv6(literal) || valid_ip_future(literal)) ? close + 1
                                                                                 : nullptr;
  }
  const char* at = kUnreservedAndSubDelims.skip(p, end);
  while (at != end && *at == '%') {
    if (!is_percent_encoding(at, end) || is_control(percent_decoded(at))) return nullptr;
    at = kUnreservedAndSubDelims.skip(at + 3, end);
  }
  return at == p ? nullptr : at;
}

/// The same, quickly for names and IPv4 addresses, which need no closer look.
inline const char* skip_host(const char* p, const char* end) noexcept {
  const char* const at = kUnreservedAndSubDelims.skip(p, end);
  if (at != p && (at == end || *at == ':')) [[likely]]
    return at;
  return skip_unusual_host(p, end);
}

/// port = *DIGIT, with a number that a port can have. Nothing when it is not that; 0 when empty.
inline std::optional<unsigned> port_number(const char* p, const char* end) noexcept {
  unsigned number = 0;
  for (; p != end; ++p) {
    const unsigned digit = static_cast<unsigned char>(*p) - unsigned{'0'};
    if (digit > 9) return std::nullopt;
    number = number * 10 + digit;
    if (number > 65535) return std::nullopt;
  }
  return number;
}

// ---- Path and query ----

/// True when a dot segment, percent-encoded or not, may begin at this '.': a name like ".git" or
/// "..." is an ordinary segment.
bool may_be_dot_segment(const char* p, const char* end) noexcept {
  ++p;
  if (p != end && *p == '.') ++p;
  return p == end || *p == '/' || *p == '?' || *p == '%';
}

/// The end of a path that needs neither decoding nor normalising (its '?' or `end`), or the byte
/// where that became doubtful.
/// REQUIRES: p != end and *p == '/'.
const char* skip_plain_path(const char* p, const char* end) noexcept {
  for (;;) {
    p = kPlainPathBytes.skip(p, end);
    if (p == end || *p != '.') return p;
    if (p[-1] == '/' && may_be_dot_segment(p, end)) return p;
    ++p;
  }
}

/// Writes paths: segments are added one by one, and dot segments are removed as they are completed
/// (RFC 3986 §5.2.4, on what they decode to).
class PathWriter {
 public:
  explicit PathWriter(char* out) noexcept : begin_(out), end_(out), segment_(out) {}

  void begin_segment() noexcept {
    segment_ = end_;
    *end_++ = '/';
  }
  void add(char c) noexcept { *end_++ = c; }

  /// False when the segment climbs above the root.
  bool end_segment(bool is_last) noexcept {
    const std::string_view name{segment_ + 1, static_cast<std::size_t>(end_ - segment_ - 1)};
    if (name == ".") {
      end_ = segment_;
    } else if (name == "..") {
      if (segment_ == begin_) return false;
      do --segment_;
      while (*segment_ != '/');
      end_ = segment_;
    } else {
      return true;
    }
    if (is_last) *end_++ = '/';  // "/a/." and "/a/b/.." are both the folder "/a/"
    return true;
  }

  std::string_view written() const noexcept {
    return {begin_, static_cast<std::size_t>(end_ - begin_)};
  }

 private:
  char* begin_;
  char* end_;
  char* segment_;  ///< the '/' that the last segment begins with
};

/// Decodes and normalises a path into `scratch`. Returns its end in the raw target, or null when it
/// is not valid.
const char* write_path(const char* p, const char* end, PathWriter& writer) noexcept {
  while (p != end && *p != '?') {
    ++p;  // the '/' of this segment
    writer.begin_segment();
    for (; p != end && *p != '/' && *p != '?'; ++p) {
      if (*p != '%') {
        if (!kPathBytes.has(*p)) return nullptr;
        writer.add(*p);
        continue;
      }
      if (!is_percent_encoding(p, end)) return nullptr;
      const unsigned octet = percent_decoded(p);
      if (is_control(octet))
        return nullptr;  // NUL would cut, CR and LF would split (RFC 9112 §11.1)
      if (octet == '/') {
        writer.add('%');
        writer.add('2');
        writer.add('F');
      } else {
        writer.add(static_cast<char>(octet));
      }
      p += 2;
    }
    if (!writer.end_segment(p == end || *p == '?')) return nullptr;
  }
  return p;
}

bool valid_query(const char* p, const char* end) noexcept {
  for (;;) {
    p = kQueryBytes.skip(p, end);
    if (p == end) return true;
    if (*p != '%' || !is_percent_encoding(p, end)) return false;
    p += 3;
  }
}

/// Judges [p, end), which begins with a '/', and fills in the path and the query.
bool resolve_path_and_query(const char* p, const char* end, char* scratch,
                            Target& target) noexcept {
  const char* path_end = skip_plain_path(p, end);
  if (path_end == end || *path_end == '?') {
    target.path = {p, static_cast<std::size_t>(path_end - p)};
  } else {
    if (*path_end != '%' && *path_end != '.') return false;
    PathWriter writer{scratch};
    path_end = write_path(p, end, writer);
    if (path_end == nullptr) return false;
    const std::string_view raw{p, static_cast<std::size_t>(path_end - p)};
    target.path = writer.written() == raw ? raw : writer.written();
  }
  if (path_end == end) return true;
  target.query = {path_end + 1, static_cast<std::size_t>(end - path_end - 1)};
  return valid_query(path_end + 1, end);
}

// ---- The forms ----

/// RFC 9112 §3.2.3, RFC 9110 §9.3.6: host and port, both needed.
std::expected<Target, Status> resolve_authority_form(std::string_view raw) noexcept {
  const char* const end = raw.data() + raw.size();
  const char* const host_end = skip_host(raw.data(), end);
  if (host_end == nullptr || host_end == end || *host_end != ':') return kInvalid;
  if (port_number(host_end + 1, end).value_or(0) == 0) return kInvalid;
  Target target;
  target.form = TargetForm::kAuthority;
  target.authority = raw;
  return target;
}

/// RFC 9112 §3.2.2.
std::expected<Target, Status> resolve_absolute_form(Method method, std::string_view raw,
                                                    char* scratch, bool secured) noexcept {
  constexpr std::string_view kHttp = "http://";
  constexpr std::string_view kHttps = "https://";
  std::string_view rest = raw;
  if (equal_ignoring_case(raw.substr(0, kHttp.size()), kHttp)) {
    rest.remove_prefix(kHttp.size());
  } else if (equal_ignoring_case(raw.substr(0, kHttps.size()), kHttps)) {
    // RFC 9110 §7.4: an https resource is not served over a connection that is not secured.
    if (!secured) return std::unexpected(Status::kMisdirectedRequest);
    rest.remove_prefix(kHttps.size());
  } else {
    return kInvalid;
  }
  const std::size_t authority_size = std::min(rest.find_first_of("/?"), rest.size());
  Target target;
  target.form = TargetForm::kAbsolute;
  target.authority = rest.substr(0, authority_size);
  // RFC 9110 §4.2.1: no empty host; §4.2.4: no user information, as '@' is part of no host.
  if (!valid_host(target.authority, false)) return kInvalid;
  rest.remove_prefix(authority_size);

  if (rest.empty() || rest.front() == '?') {
    // RFC 9112 §3.2.4: OPTIONS for a URI without path and query asks about the server as a whole.
    target.path = method == Method::kOptions && rest.empty() ? "*" : "/";
    if (rest.empty()) return target;
    target.query = rest.substr(1);
    if (!valid_query(target.query.data(), target.query.data() + target.query.size()))
      return kInvalid;
    return target;
  }
  if (!resolve_path_and_query(rest.data(), rest.data() + rest.size(), scratch, target))
    return kInvalid;
  return target;
}

}  // namespace

std::expected<Target, Status> resolve_target(Method method, std::string_view raw, char* scratch,
                                             std::size_t scratch_size, bool secured) noexcept {
  LEANTEA_ASSERT(scratch_size >= raw.size());
  if (method == Method::kConnect) return resolve_authority_form(raw);
  Target target;
  if (raw.starts_with('/')) {  // origin-form, RFC 9112 §3.2.1
    if (!resolve_path_and_query(raw.data(), raw.data() + raw.size(), scratch, target))
      return kInvalid;
    return target;
  }
  if (raw == "*") {  // asterisk-form, RFC 9112 §3.2.4
    if (method != Method::kOptions) return kInvalid;
    target.form = TargetForm::kAsterisk;
    target.path = raw;
    return target;
  }
  return resolve_absolute_form(method, raw, scratch, secured);
}

bool valid_host(std::string_view value, bool empty_allowed) noexcept {
  if (value.empty()) return empty_allowed;
  const char* const end = value.data() + value.size();
  const char* const host_end = skip_host(value.data(), end);
  if (host_end == nullptr) return false;
  if (host_end == end) return true;
  return *host_end == ':' && port_number(host_end + 1, end).has_value();
}

bool HostCheck::valid_otherwise(std::string_view value) noexcept {
  if (!valid_host(value, true)) return false;
  if (value.size() >= kShortest && value.size() <= bytes_.size()) {
    size_ = value.copy(bytes_.data(), bytes_.size());
  }
  return true;
}

}  // namespace leantea::http

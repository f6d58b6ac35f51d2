// The request target: nothing is read outside, and the path is what a plain implementation of the
// rules makes of it.
//
// The first byte chooses the method, the rest is the target. Without a target it is a Host.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "exact_bytes.hpp"
#include "http/byte_set.hpp"
#include "http/target.hpp"

namespace {

using namespace leantea;

/// A segment decoded, with "%2F" left as it is, or nothing when it is not valid.
std::optional<std::string> decoded(std::string_view segment) {
  std::string text;
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (segment[i] != '%') {
      text += segment[i];
      continue;
    }
    if (i + 2 >= segment.size()) return std::nullopt;
    if (!http::kHexDigits.has(segment[i + 1]) || !http::kHexDigits.has(segment[i + 2]))
      return std::nullopt;
    const unsigned octet = http::hex_value(segment[i + 1]) * 16 + http::hex_value(segment[i + 2]);
    if (octet < 0x20 || octet == 0x7f) return std::nullopt;
    if (octet == '/')
      text += "%2F";
    else
      text += static_cast<char>(octet);
    i += 2;
  }
  return text;
}

/// RFC 3986 §5.2.4 with a list of segments, for a path whose characters are good.
std::optional<std::string> normalised(std::string_view raw) {
  std::vector<std::string> segments;
  bool folder = false;
  while (!raw.empty()) {
    raw.remove_prefix(1);  // the '/'
    const std::size_t end = std::min(raw.find('/'), raw.size());
    const auto segment = decoded(raw.substr(0, end));
    if (!segment) return std::nullopt;
    raw.remove_prefix(end);
    folder = *segment == "." || *segment == "..";
    if (*segment == "..") {
      if (segments.empty()) return std::nullopt;
      segments.pop_back();
    } else if (*segment != ".") {
      segments.push_back(*segment);
    }
  }
  std::string path;
  for (const std::string& segment : segments) path += "/" + segment;
  if (folder) path += "/";
  return path;
}

void check_origin_form(std::string_view raw, const std::expected<http::Target, Status>& target) {
  static constexpr http::ByteSet kGood = http::kLettersAndDigits.with("-._~!$&'()*+,;=:@/?%");
  const bool good = std::ranges::all_of(raw, [](char c) { return kGood.has(c); });
  const std::size_t mark = std::min(raw.find('?'), raw.size());
  const auto path = normalised(raw.substr(0, mark));
  if (!target) {
    LEANTEA_ASSERT(target.error() == Status::kBadRequest);
    // What is left that may be wrong is an encoding in the query.
    LEANTEA_ASSERT(!good || !path || raw.substr(mark).contains('%'));
    return;
  }
  LEANTEA_ASSERT(good && path && target->path == *path);
  LEANTEA_ASSERT(target->query == (mark < raw.size() ? raw.substr(mark + 1) : ""));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  const auto method = static_cast<Method>(fuzz::take_byte(input) % kMethodCount);
  const fuzz::ExactBytes raw{input};
  const fuzz::ExactBytes scratch{input};
  const auto target = http::resolve_target(method, raw.view(),
                                           const_cast<char*>(scratch.view().data()), input.size());
  if (method != Method::kConnect && input.starts_with('/')) check_origin_form(raw.view(), target);
  if (target && target->form == http::TargetForm::kAbsolute)
    LEANTEA_ASSERT(http::valid_host(target->authority, false) && !target->authority.contains('@') &&
                   !target->path.empty());
  if (target && target->form == http::TargetForm::kAuthority)
    LEANTEA_ASSERT(http::valid_host(target->authority, false));
  if (http::valid_host(raw.view(), false))
    LEANTEA_ASSERT(!input.empty() &&
                   input.find_first_of(" \t/?#@\\\"<>") == std::string_view::npos);
  return 0;
}

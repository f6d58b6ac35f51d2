#include "app/route_pattern.hpp"

#include <algorithm>
#include <optional>

#include <leantea/request.hpp>

#include "http/ascii.hpp"
#include "http/byte_set.hpp"

namespace leantea::app {
namespace {

using Kind = PatternSegment::Kind;

constexpr http::ByteSet kNameBytes = http::kLettersAndDigits.with("_");

std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == '\x7f'; }

/// What is wrong with a parameter's name, or nothing.
std::optional<std::string> wrong_with_name(std::string_view name) {
  if (name.empty()) return "has empty braces: give the parameter a name, like {id}";
  const char* const end = name.data() + name.size();
  if (kNameBytes.skip(name.data(), end) != end || http::kDigits.has(name.front()))
    return "has the parameter name " + quoted(name) +
           ": use letters, digits and '_', not beginning with a digit";
  return std::nullopt;
}

/// Paths are matched decoded, so a pattern is written decoded. The one exception is "%2F", which stays
/// as it is in a path, so that decoding never makes a segment.
std::optional<std::string> wrong_with_percent(std::string_view segment) {
  for (std::size_t at = segment.find('%'); at != std::string_view::npos;
       at = segment.find('%', at + 1)) {
    const std::string_view code = segment.substr(at, 3);
    if (code.size() < 3 || !http::kHexDigits.has(code[1]) || !http::kHexDigits.has(code[2]))
      continue;
    if (code == "%2F") continue;
    if (code == "%2f") return "has \"%2f\": write \"%2F\"";
    return "has " + quoted(code) +
           ": paths are percent-decoded before they are matched, write the character itself";
  }
  return std::nullopt;
}

/// What a literal holds that no path has, so that the route would never match.
std::optional<std::string> wrong_with_literal(std::string_view segment) {
  if (segment.find_first_of("{}") != std::string_view::npos)
    return "has a brace inside of the segment " + quoted(segment) +
           ": a parameter is a whole segment, like /{name}";
  if (segment == "." || segment == "..")
    return "has the dot segment " + quoted(segment) +
           ": paths are normalised before they are matched, remove it";
  if (segment.find('?') != std::string_view::npos)
    return "has a '?': a pattern is a path alone, take the query from Request::query_param()";
  if (segment.find('#') != std::string_view::npos)
    return "has a '#': a fragment is never sent to a server, remove it";
  if (std::ranges::any_of(segment, is_control))
    return "has a control character: no path has one, remove it";
  return wrong_with_percent(segment);
}

std::expected<PatternSegment, std::string> parse_segment(std::string_view segment, bool last) {
  if (!segment.starts_with('{') || !segment.ends_with('}') || segment.size() < 2) {
    if (auto wrong = wrong_with_literal(segment)) return std::unexpected(std::move(*wrong));
    return PatternSegment{Kind::kLiteral, segment};
  }
  std::string_view name = segment.substr(1, segment.size() - 2);
  const bool rest = name.ends_with("...");
  if (rest) name.remove_suffix(3);
  if (auto wrong = wrong_with_name(name)) return std::unexpected(std::move(*wrong));
  if (rest && !last)
    return std::unexpected("has something behind " + quoted(segment) +
                           ": the rest of a path ends the pattern, remove what follows it");
  return PatternSegment{rest ? Kind::kRest : Kind::kParameter, name};
}

std::optional<std::string> wrong_with_names(const std::vector<std::string_view>& names) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name)
      return "has the parameter {" + std::string(*name) + "} twice: give each a name of its own";
  }
  if (names.size() > detail::PathParams::kMax)
    return "has " + std::to_string(names.size()) + " parameters: use at most " +
           std::to_string(detail::PathParams::kMax) +
           ", or take the rest of the path as one {rest...}";
  return std::nullopt;
}

}  // namespace

bool RoutePattern::literal() const noexcept {
  return std::ranges::all_of(segments, [](const auto& s) { return s.kind == Kind::kLiteral; });
}

std::vector<std::string_view> RoutePattern::names() const {
  std::vector<std::string_view> names;
  for (const PatternSegment& segment : segments)
    if (segment.kind != Kind::kLiteral) names.push_back(segment.text);
  return names;
}

std::string RoutePattern::shape() const {
  std::string shape;
  for (const PatternSegment& segment : segments) {
    shape += '/';
    switch (segment.kind) {
      case Kind::kLiteral:
        shape += segment.text;
        break;
      case Kind::kParameter:
        shape += "{}";
        break;
      case Kind::kRest:
        shape += "{...}";
        break;
    }
  }
  return shape;
}

std::expected<RoutePattern, std::string> parse_route_pattern(std::string_view pattern) {
  if (!pattern.starts_with('/'))
    return std::unexpected("does not begin with '/': write " + quoted('/' + std::string(pattern)));
  RoutePattern parsed;
  while (!pattern.empty()) {
    const std::size_t end = std::min(pattern.find('/', 1), pattern.size());
    auto segment = parse_segment(pattern.substr(1, end - 1), end == pattern.size());
    if (!segment) return std::unexpected(std::move(segment.error()));
    parsed.segments.push_back(*segment);
    pattern.remove_prefix(end);
  }
  if (auto wrong = wrong_with_names(parsed.names())) return std::unexpected(std::move(*wrong));
  return parsed;
}

}  // namespace leantea::app

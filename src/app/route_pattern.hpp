// RoutePattern: a route's pattern, taken apart, and what may be wrong with one.
//
// Used while a router is checked and compiled, never while requests are served. Views are into the
// pattern's text. Any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace leantea::app {

/// One segment: what stands between two slashes.
struct PatternSegment {
  enum class Kind : std::uint8_t {
    kLiteral,    ///< "users": exactly this
    kParameter,  ///< "{id}": one segment that is not empty
    kRest,       ///< "{path...}": all that is left, also nothing
  };
  Kind kind;
  std::string_view text;  ///< the literal, or the parameter's name
};

struct RoutePattern {
  std::vector<PatternSegment> segments;  ///< "/" is one empty literal

  bool literal() const noexcept;
  /// The parameters' names, in order.
  std::vector<std::string_view> names() const;
  /// The pattern without its names: two patterns of one shape match the same paths.
  std::string shape() const;
};

/// Takes a pattern apart; or says what is wrong with it and what to change, as the second half of a
/// sentence whose first half names the route.
std::expected<RoutePattern, std::string> parse_route_pattern(std::string_view pattern);

}  // namespace leantea::app

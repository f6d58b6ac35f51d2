// RouteTable: the routes of an application, compiled for matching.
//
// Built once at start, then constant: match() may be called from any thread at once. Literal paths are
// found by one hash look-up; patterns by walking a tree of segments. Views in params are into the path
// that was matched, and into the patterns (which live as long as the table).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <leantea/router.hpp>

namespace leantea::app {

using detail::PathParam;
using detail::PathParams;

/// Methods as bits, 1 << Method.
using MethodSet = std::uint16_t;

class RouteTable {
 public:
  struct Match {
    const Route* route = nullptr;  ///< null: no route for this method and path
    /// With a null route: the methods this path has (HEAD where there is GET, OPTIONS always), empty when
    /// no pattern matches the path (404).
    MethodSet allowed = 0;
  };

  /// Takes the routes over. REQUIRES: problems(routes) is empty.
  explicit RouteTable(std::vector<std::unique_ptr<Route>> routes);
  ~RouteTable();
  RouteTable(const RouteTable&) = delete;
  RouteTable& operator=(const RouteTable&) = delete;

  /// Finds the route. HEAD falls back to GET's route (RFC 9110 §9.3.2). A path that matches several
  /// patterns takes the one with the most literal segment first, from the left. Does not allocate.
  Match match(Method method, std::string_view path, PathParams& params) const noexcept;

  /// What is wrong with these patterns, a sentence each that names the pattern and what to change: no
  /// leading '/', a bad or repeated parameter name, "{x...}" not last, more than PathParams::kMax
  /// parameters, empty braces, characters that a normalised path cannot hold, the same route twice, two
  /// patterns that differ in parameter names only, CONNECT and TRACE (which are never routed).
  static std::vector<std::string> problems(const std::vector<std::unique_ptr<Route>>& routes);

 private:
  struct Impl;
  [[gnu::noinline]] Match match_pattern(Method method, std::string_view path, PathParams& params,
                                        std::uint32_t literal) const noexcept;

  std::unique_ptr<Impl> impl_;
};

/// "GET, HEAD, OPTIONS": the value of an Allow field (RFC 9110 §10.2.1).
std::string allow_value(MethodSet methods);

/// How src/ looks into routers and routes.
struct RouterAccess {
  static std::vector<std::unique_ptr<Route>>& routes(Router& router) { return router.routes_; }
  static std::unique_ptr<Handler>& not_found(Router& router) { return router.not_found_; }
  static const std::string& pattern(const Route& route) { return route.pattern_; }
  static Method method(const Route& route) { return route.method_; }
  static const Handler& handler(const Route& route) { return route.handler_; }
  static const RouteLimits& limits(const Route& route) { return route.limits_; }
  static const HeadHook& head_hook(const Route& route) { return route.head_hook_; }
};

}  // namespace leantea::app

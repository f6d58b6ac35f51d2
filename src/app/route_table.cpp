#include "app/route_table.hpp"

#include <array>
#include <map>
#include <utility>

#include "app/route_pattern.hpp"
#include "app/text_table.hpp"
#include "base/assert.hpp"

namespace leantea::app {
namespace {

constexpr MethodSet bit(Method method) noexcept {
  return static_cast<MethodSet>(1u << static_cast<unsigned>(method));
}

constexpr std::size_t index(Method method) noexcept { return static_cast<std::size_t>(method); }

/// A route, and its parameters' names in order.
struct Target {
  const Route* route;
  std::vector<std::string_view> names;
};

/// The routes of one pattern.
struct Endpoint {
  /// HEAD has GET's where it has none of its own (RFC 9110 §9.3.2).
  std::array<const Target*, kMethodCount> targets{};
  MethodSet methods = 0;

  void add(Method method, const Target& target) {
    targets[index(method)] = &target;
    methods = static_cast<MethodSet>(methods | bit(method) | bit(Method::kOptions));
    if (method == Method::kGet) {
      methods = static_cast<MethodSet>(methods | bit(Method::kHead));
      if (targets[index(Method::kHead)] == nullptr) targets[index(Method::kHead)] = &target;
    }
  }
};

/// A node of the tree of patterns that have parameters; the way to it is the segments before it.
struct Node {
  static constexpr std::uint32_t kNone = TextTable::kNone;
  std::uint32_t parameter = kNone;  ///< the node behind a parameter
  std::uint32_t endpoint = kNone;   ///< of the pattern that ends here
  std::uint32_t rest = kNone;       ///< of the pattern that takes the rest from here
  bool has_literals = false;        ///< children in Impl::children, in this node's scope
};

}  // namespace

struct RouteTable::Impl {
  /// What a walk looks for, and what it has seen on its way.
  struct Search {
    Method method;
    PathParams& params;
    const Target* found = nullptr;
    MethodSet allowed = 0;
  };

  static constexpr std::uint32_t kRoot = 0;

  std::vector<std::unique_ptr<Route>> routes;
  std::vector<std::unique_ptr<Target>> targets;
  std::vector<Endpoint> endpoints;
  TextTable literals;  ///< whole paths to endpoints
  std::vector<Node> nodes;
  TextTable children;  ///< a node and a literal segment to a node

  const Target* target(std::uint32_t endpoint, Method method) const noexcept {
    return endpoints[endpoint].targets[index(method)];
  }

  bool take(std::uint32_t endpoint, Search& search) const noexcept;
  bool walk(std::uint32_t at, std::string_view path, Search& search) const noexcept;
};

/// True when this endpoint has the method. If not, a pattern that is less literal may have it.
bool RouteTable::Impl::take(std::uint32_t endpoint, Search& search) const noexcept {
  search.found = target(endpoint, search.method);
  search.allowed = static_cast<MethodSet>(search.allowed | endpoints[endpoint].methods);
  return search.found != nullptr;
}

/// Goes on from a node with what is left of the path, which begins with '/' or is empty. Every node is
/// reached by one way only, so a walk visits each at most once.
bool RouteTable::Impl::walk(std::uint32_t at, std::string_view path,
                            Search& search) const noexcept {
  const Node& node = nodes[at];
  PathParams& params = search.params;
  if (path.empty()) {
    if (node.endpoint != Node::kNone && take(node.endpoint, search)) return true;
  } else {
    const std::size_t slash = path.find('/', 1);
    const std::string_view segment = path.substr(1, slash - 1);
    const std::string_view left =
        slash == std::string_view::npos ? std::string_view{} : path.substr(slash);
    if (node.has_literals) {
      const std::uint32_t child = children.find(at, segment);
      if (child != TextTable::kNone && walk(child, left, search)) return true;
    }
    if (node.parameter != Node::kNone && !segment.empty()) {
      params.items[params.count++].value = segment;
      if (walk(node.parameter, left, search)) return true;
      --params.count;
    }
  }
  if (node.rest == Node::kNone || !take(node.rest, search)) return false;
  params.items[params.count++].value = path.empty() ? path : path.substr(1);
  return true;
}

RouteTable::Match RouteTable::match(Method method, std::string_view path,
                                    PathParams& params) const noexcept {
  params.count = 0;
  const std::uint32_t literal = impl_->literals.find(Impl::kRoot, path);
  if (literal != TextTable::kNone) [[likely]] {
    // A literal pattern wins over all others, so there is nothing more to look at.
    if (const Target* const target = impl_->target(literal, method)) return {target->route, 0};
  }
  return match_pattern(method, path, params, literal);
}

/// What no literal pattern has for this method.
RouteTable::Match RouteTable::match_pattern(Method method, std::string_view path,
                                            PathParams& params,
                                            std::uint32_t literal) const noexcept {
  Impl::Search search{method, params};
  if (literal != TextTable::kNone) search.allowed = impl_->endpoints[literal].methods;
  // "*" and the empty path of CONNECT are no paths that a pattern could mean.
  if (impl_->nodes.empty() || !path.starts_with('/')) return {nullptr, search.allowed};
  if (!impl_->walk(Impl::kRoot, path, search)) return {nullptr, search.allowed};
  for (std::size_t i = 0; i < params.count; ++i) params.items[i].name = search.found->names[i];
  return {search.found->route, 0};
}

// ---- Compiling ----

namespace {

/// What find() will know at the end, as it is collected.
struct Collected {
  std::map<std::string_view, std::uint32_t> literals;
  std::map<std::pair<std::uint32_t, std::string_view>, std::uint32_t> children;
};

std::uint32_t new_node(std::vector<Node>& nodes) {
  nodes.emplace_back();
  return static_cast<std::uint32_t>(nodes.size() - 1);
}

/// The node for one more segment of a pattern, made where it is missing.
std::uint32_t node_below(std::vector<Node>& nodes, Collected& collected, std::uint32_t at,
                         const PatternSegment& segment) {
  if (segment.kind == PatternSegment::Kind::kParameter) {
    if (nodes[at].parameter == Node::kNone) {
      const std::uint32_t made = new_node(nodes);
      nodes[at].parameter = made;
    }
    return nodes[at].parameter;
  }
  const auto [child, missing] = collected.children.try_emplace({at, segment.text}, Node::kNone);
  if (missing) child->second = new_node(nodes);
  nodes[at].has_literals = true;
  return child->second;
}

/// Where the number of a pattern's endpoint is kept, kNone when it has none yet.
std::uint32_t& endpoint_place(std::vector<Node>& nodes, Collected& collected,
                              const RoutePattern& pattern, std::string_view text) {
  if (pattern.literal()) return collected.literals.try_emplace(text, Node::kNone).first->second;
  if (nodes.empty()) new_node(nodes);
  std::uint32_t at = 0;
  for (const PatternSegment& segment : pattern.segments) {
    if (segment.kind == PatternSegment::Kind::kRest) return nodes[at].rest;
    at = node_below(nodes, collected, at, segment);
  }
  return nodes[at].endpoint;
}

std::vector<TextTable::Entry> entries(const Collected& collected, bool children) {
  std::vector<TextTable::Entry> entries;
  if (children) {
    for (const auto& [key, node] : collected.children)
      entries.push_back({key.first, key.second, node});
  } else {
    for (const auto& [path, endpoint] : collected.literals) entries.push_back({0, path, endpoint});
  }
  return entries;
}

std::string wrong_with_limits(const RouteLimits& limits) {
  constexpr Limits::milliseconds kZero{0};
  if (limits.body_timeout.value_or(kZero) < kZero)
    return "has a negative body_timeout: use 0 to turn it off";
  if (limits.handler_timeout.value_or(kZero) < kZero)
    return "has a negative handler_timeout: use 0 to turn it off";
  return {};
}

std::string named(Method method, std::string_view pattern) {
  return std::string(to_string(method)) + " \"" + std::string(pattern) + '"';
}

}  // namespace

RouteTable::RouteTable(std::vector<std::unique_ptr<Route>> routes)
    : impl_(std::make_unique<Impl>()) {
  LEANTEA_ASSERT(problems(routes).empty());
  impl_->routes = std::move(routes);
  Collected collected;
  for (const auto& route : impl_->routes) {
    const std::string& text = RouterAccess::pattern(*route);
    const RoutePattern pattern = *parse_route_pattern(text);
    std::uint32_t& endpoint = endpoint_place(impl_->nodes, collected, pattern, text);
    if (endpoint == Node::kNone) {
      endpoint = static_cast<std::uint32_t>(impl_->endpoints.size());
      impl_->endpoints.emplace_back();
    }
    impl_->targets.push_back(std::make_unique<Target>(route.get(), pattern.names()));
    impl_->endpoints[endpoint].add(RouterAccess::method(*route), *impl_->targets.back());
  }
  impl_->literals = TextTable(entries(collected, false));
  impl_->children = TextTable(entries(collected, true));
}

RouteTable::~RouteTable() = default;

std::vector<std::string> RouteTable::problems(const std::vector<std::unique_ptr<Route>>& routes) {
  std::vector<std::string> problems;
  std::map<std::pair<Method, std::string>, const std::string*> shapes;
  for (const auto& route : routes) {
    const Method method = RouterAccess::method(*route);
    const std::string& text = RouterAccess::pattern(*route);
    const std::string name = "the route " + named(method, text);
    if (method == Method::kConnect || method == Method::kTrace) {
      problems.push_back(name + " can never be reached: " + std::string(to_string(method)) +
                         " is not served, remove the route");
    }
    if (const std::string wrong = wrong_with_limits(RouterAccess::limits(*route)); !wrong.empty())
      problems.push_back(name + ' ' + wrong);
    const auto pattern = parse_route_pattern(text);
    if (!pattern) {
      problems.push_back(name + ' ' + pattern.error());
      continue;
    }
    const auto [first, is_new] = shapes.try_emplace({method, pattern->shape()}, &text);
    if (is_new) continue;
    if (*first->second == text) {
      problems.push_back(name + " is there twice: remove one of them");
    } else {
      problems.push_back(name + " matches the same paths as " + named(method, *first->second) +
                         ": only the parameters' names differ, remove one of them");
    }
  }
  return problems;
}

std::string allow_value(MethodSet methods) {
  std::string value;
  for (std::size_t i = 0; i < kMethodCount; ++i) {
    const auto method = static_cast<Method>(i);
    if ((methods & bit(method)) == 0) continue;
    if (!value.empty()) value += ", ";
    value += to_string(method);
  }
  return value;
}

}  // namespace leantea::app

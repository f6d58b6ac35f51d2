// Router: which handler answers which method and path.
//
// Built on one thread, then moved into a Server (or a test client), which shares it between its loops:
// handlers are called from every loop at once and must be safe for that. Mistakes in patterns are
// collected and reported when the server starts (Router::problems()).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <leantea/http.hpp>
#include <leantea/limits.hpp>
#include <leantea/request.hpp>
#include <leantea/response.hpp>
#include <leantea/task.hpp>

namespace leantea {

namespace app {
class RouteTable;
struct RouterAccess;
}  // namespace app

/// A handler of either kind: plain (returns a Response) or waiting (returns a Task<Response>). Move-only.
class Handler {
 public:
  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, Handler> && std::is_invocable_v<F&, Request&>)
  Handler(F&& function)  // NOLINT(google-explicit-constructor)
      : object_(new std::decay_t<F>(std::forward<F>(function)),
                [](void* object) { delete static_cast<std::decay_t<F>*>(object); }) {
    using Result = std::invoke_result_t<F&, Request&>;
    static_assert(std::is_same_v<Result, Response> || std::is_same_v<Result, Task<Response>>,
                  "a handler returns leantea::Response or leantea::Task<leantea::Response>");
    if constexpr (std::is_same_v<Result, Response>) {
      plain_ = [](void* object, Request& request) -> Response {
        return (*static_cast<std::decay_t<F>*>(object))(request);
      };
    } else {
      waiting_ = [](void* object, Request& request) -> Task<Response> {
        return (*static_cast<std::decay_t<F>*>(object))(request);
      };
    }
  }

  bool plain() const noexcept { return plain_ != nullptr; }
  /// REQUIRES: plain().
  Response call(Request& request) const { return plain_(object_.get(), request); }
  /// REQUIRES: !plain().
  Task<Response> start(Request& request) const { return waiting_(object_.get(), request); }

 private:
  std::unique_ptr<void, void (*)(void*)> object_;
  Response (*plain_)(void*, Request&) = nullptr;
  Task<Response> (*waiting_)(void*, Request&) = nullptr;
};

/// Looks at a request's head before its content is asked for. An answer refuses the request: no
/// `100 Continue` is sent and no content is read (RFC 9110 §10.1.1).
using HeadHook = std::function<std::optional<Response>(const Request&)>;

/// One route, for setting it apart from the server's defaults.
class Route {
 public:
  Route(std::string pattern, Method method, Handler handler)
      : pattern_(std::move(pattern)), method_(method), handler_(std::move(handler)) {}

  Route& limits(RouteLimits limits) {
    limits_ = limits;
    return *this;
  }
  /// Called before the content is asked for; see HeadHook.
  Route& on_head(HeadHook hook) {
    head_hook_ = std::move(hook);
    return *this;
  }

 private:
  friend struct app::RouterAccess;
  friend class app::RouteTable;
  std::string pattern_;
  Method method_;
  Handler handler_;
  RouteLimits limits_;
  HeadHook head_hook_;
};

class Router {
 public:
  Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;
  ~Router();

  /// Adds a route. A pattern is a path whose segments are literal ("/users"), a parameter ("{id}", one
  /// non-empty segment) or, as the last one, the rest ("{path...}", any number of segments, also none).
  /// Literals win over parameters, parameters over the rest. The reference is valid until the router is
  /// moved or another route is added.
  Route& add(Method method, std::string_view pattern, Handler handler);
  Route& get(std::string_view pattern, Handler handler) {
    return add(Method::kGet, pattern, std::move(handler));
  }
  Route& head(std::string_view pattern, Handler handler) {
    return add(Method::kHead, pattern, std::move(handler));
  }
  Route& post(std::string_view pattern, Handler handler) {
    return add(Method::kPost, pattern, std::move(handler));
  }
  Route& put(std::string_view pattern, Handler handler) {
    return add(Method::kPut, pattern, std::move(handler));
  }
  Route& del(std::string_view pattern, Handler handler) {
    return add(Method::kDelete, pattern, std::move(handler));
  }
  Route& patch(std::string_view pattern, Handler handler) {
    return add(Method::kPatch, pattern, std::move(handler));
  }
  Route& options(std::string_view pattern, Handler handler) {
    return add(Method::kOptions, pattern, std::move(handler));
  }

  /// Answers what no route matches, in place of the plain 404.
  void not_found(Handler handler);

  /// What is wrong with the patterns, a sentence each; empty when all is well.
  std::vector<std::string> problems() const;

 private:
  friend struct app::RouterAccess;
  std::vector<std::unique_ptr<Route>> routes_;
  std::unique_ptr<Handler> not_found_;
};

}  // namespace leantea

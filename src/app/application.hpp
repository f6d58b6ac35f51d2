// Application: what a router becomes when a server starts: compiled routes, the answer for what has no
// route, and where log lines go. Constant after construction; shared by all loops.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <leantea/router.hpp>

#include "app/route_table.hpp"

namespace leantea::app {

class Application {
 public:
  using Log = std::function<void(std::string_view)>;

  /// REQUIRES: router.problems() is empty. `log` may be empty: lines go to standard error.
  Application(Router router, Log log);

  const RouteTable& routes() const noexcept { return routes_; }
  /// Null when the plain 404 is wanted.
  const Handler* not_found() const noexcept { return not_found_.get(); }
  /// Writes one line (no line end in it). Any thread.
  void log(std::string_view line) const noexcept;

 private:
  RouteTable routes_;
  std::unique_ptr<Handler> not_found_;
  Log log_;
};

}  // namespace leantea::app

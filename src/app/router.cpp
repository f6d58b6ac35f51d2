#include <leantea/router.hpp>

#include "app/route_table.hpp"

namespace leantea {

Router::Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;
Router::~Router() = default;

Route& Router::add(Method method, std::string_view pattern, Handler handler) {
  routes_.push_back(std::make_unique<Route>(std::string(pattern), method, std::move(handler)));
  return *routes_.back();
}

void Router::not_found(Handler handler) {
  not_found_ = std::make_unique<Handler>(std::move(handler));
}

std::vector<std::string> Router::problems() const { return app::RouteTable::problems(routes_); }

}  // namespace leantea

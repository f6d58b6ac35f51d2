#include <gtest/gtest.h>

#include <leantea/router.hpp>

#include "app/route_table.hpp"

namespace leantea {
namespace {

using app::RouterAccess;

Response plain(Request&) { return Response{}; }

TEST(Router, KeepsRoutesInOrderWithTheirMethods) {
  Router router;
  router.get("/a", plain);
  router.head("/a", plain);
  router.post("/a", plain);
  router.put("/a", plain);
  router.del("/a", plain);
  router.patch("/a", plain);
  router.options("/a", plain);
  std::string methods;
  for (const auto& route : RouterAccess::routes(router))
    methods.append(to_string(RouterAccess::method(*route))).append(" ");
  EXPECT_EQ(methods, "GET HEAD POST PUT DELETE PATCH OPTIONS ");
}

TEST(Router, TakesHandlersOfBothKinds) {
  Router router;
  router.get("/plain", plain);
  router.get("/const", [](const Request&) { return Response{}; });
  router.get("/waiting", [](Request&) -> Task<Response> { co_return Response{}; });
  router.get("/moved", [owned = std::make_unique<int>(1)](Request&) { return Response{}; });
  const auto& routes = RouterAccess::routes(router);
  EXPECT_TRUE(RouterAccess::handler(*routes[0]).plain());
  EXPECT_TRUE(RouterAccess::handler(*routes[1]).plain());
  EXPECT_FALSE(RouterAccess::handler(*routes[2]).plain());
  EXPECT_TRUE(RouterAccess::handler(*routes[3]).plain());
}

TEST(Router, ARouteCanBeSetApart) {
  Router router;
  router.post("/upload", plain).limits({.body_bytes = 1000}).on_head([](const Request&) {
    return std::nullopt;
  });
  const Route& route = *RouterAccess::routes(router).front();
  EXPECT_EQ(RouterAccess::limits(route).body_bytes, 1000u);
  EXPECT_TRUE(RouterAccess::head_hook(route));
}

TEST(Router, CollectsProblemsAndGoesOn) {
  Router router;
  router.get("no-slash", plain);
  router.get("/fine", plain);
  router.get("/fine", plain);
  EXPECT_EQ(router.problems().size(), 2u);
}

TEST(Router, MovesWithItsRoutes) {
  Router first;
  first.get("/a", plain);
  first.not_found(plain);
  Router second{std::move(first)};
  EXPECT_EQ(RouterAccess::routes(second).size(), 1u);
  EXPECT_NE(RouterAccess::not_found(second), nullptr);
}

}  // namespace
}  // namespace leantea

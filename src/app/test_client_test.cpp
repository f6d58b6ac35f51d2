// The test client: what a user's own tests are written with.
#include <gtest/gtest.h>

#include <leantea/leantea.hpp>
#include <leantea/test.hpp>

namespace leantea {
namespace {

using namespace std::chrono_literals;

Router make_router() {
  Router app;
  app.get("/hello/{name}", [](const Request& r) {
    return Response::text("Hello, " + std::string(r.param("name")));
  });
  app.post("/echo", [](Request& r) { return Response::bytes(r.take_body()); });
  app.get("/later", [](Request&) -> Task<Response> {
    co_await sleep(24h);
    co_return Response::text("a day later").header("X-Day", "1");
  });
  app.get("/work", [](Request&) -> Task<Response> {
    co_return Response::text(std::to_string(co_await offload([] { return 6 * 7; })));
  });
  app.get("/stream", [](const Request&) {
    return Response::stream("text/plain", [](Writer& out) -> Task<> {
      co_await out.write("one ");
      co_await sleep(1s);
      co_await out.write("two");
    });
  });
  return app;
}

TEST(TestClient, CallsAHandler) {
  test::App app(make_router());
  const test::Answer answer = app.call("GET", "/hello/tea");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "Hello, tea");
  EXPECT_EQ(answer.header("content-type"), "text/plain; charset=utf-8");
  EXPECT_EQ(app.call("GET", "/none").status, 404);
}

TEST(TestClient, SendsBodies) {
  test::App app(make_router());
  EXPECT_EQ(app.call("POST", "/echo", {.body = "abc"}).body, "abc");
  EXPECT_EQ(app.call("POST", "/echo", {.chunks = {"ab", "cd"}}).body, "abcd");
  const std::string large(300'000, 'x');
  EXPECT_EQ(app.call("POST", "/echo", {.body = large}).body, large);
  const test::Options expecting{.headers = {{"Expect", "100-continue"}}, .body = "abc"};
  EXPECT_EQ(app.call("POST", "/echo", expecting).status, 200);
}

TEST(TestClient, LetsTimePassForWhoSleeps) {
  Limits limits;
  limits.handler_timeout = 48h;
  const test::Answer answer = test::App(make_router(), limits).call("GET", "/later");
  EXPECT_EQ(answer.body, "a day later");
  EXPECT_EQ(test::App(make_router()).call("GET", "/later").status, 503);  // handlers have a minute
}

TEST(TestClient, WaitsForWorkers) {
  EXPECT_EQ(test::call(make_router(), "GET", "/work").body, "42");
}

TEST(TestClient, ReadsStreams) {
  const test::Answer answer = test::call(make_router(), "GET", "/stream");
  EXPECT_EQ(answer.body, "one two");
  EXPECT_FALSE(answer.truncated);
}

TEST(TestClient, ExchangesBytes) {
  test::App app(make_router());
  EXPECT_TRUE(app.exchange("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 Bad Request\r\n"));
}

TEST(TestClient, RefusesARouterThatAServerWouldRefuse) {
  Router router;
  router.get("no-slash", [](const Request&) { return Response{}; });
  EXPECT_THROW(test::App{std::move(router)}, std::invalid_argument);
}

}  // namespace
}  // namespace leantea

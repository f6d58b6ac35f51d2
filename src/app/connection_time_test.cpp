// What time does to a connection: each timeout, and that it does nothing before.
#include <gtest/gtest.h>

#include "support/wire.hpp"

namespace leantea {
namespace {

using test::bench_app;
using test::take_answers;
using test::Wire;
using namespace std::chrono_literals;

constexpr std::string_view kHealth = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n";

Limits limits() {
  Limits limits;
  limits.head_timeout = 3s;
  limits.body_timeout = 4s;
  limits.idle_timeout = 5s;
  limits.write_timeout = 6s;
  limits.linger_timeout = 1s;
  return limits;
}

TEST(ConnectionTime, ClosesASilentConnection) {
  Wire wire(bench_app(), limits());
  EXPECT_EQ(wire.elapse(2900ms).state(), "open");
  EXPECT_EQ(wire.elapse(200ms).state(), "closed");
  EXPECT_EQ(wire.sent(), "");
}

TEST(ConnectionTime, AnswersA408ToASlowHead) {
  Wire wire(bench_app(), limits());
  wire.elapse(2s).receive("GET /he");
  for (int i = 0; i < 2; ++i) wire.elapse(1s).receive("x");  // a byte now and then does not help
  EXPECT_EQ(wire.answers(), "");
  EXPECT_EQ(wire.elapse(1100ms).answers(), "408 Request Timeout");
  EXPECT_EQ(wire.state(), "lingering");
  EXPECT_EQ(wire.elapse(1100ms).state(), "closed");
}

TEST(ConnectionTime, ClosesAnIdleConnection) {
  Wire wire(bench_app(), limits());
  wire.receive(kHealth).answers();
  wire.elapse(4s).receive(kHealth).answers();
  EXPECT_EQ(wire.elapse(4900ms).state(), "open");
  EXPECT_EQ(wire.elapse(200ms).state(), "closed");
  EXPECT_EQ(wire.sent(), "");
}

TEST(ConnectionTime, AnswersA408ToASlowBody) {
  Wire wire(bench_app(), limits());
  wire.receive("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n");
  wire.elapse(3s).receive(std::string(5000, 'x'));
  EXPECT_EQ(wire.elapse(3900ms).answers(), "");
  EXPECT_EQ(wire.elapse(200ms).answers(), "408 Request Timeout");
}

TEST(ConnectionTime, AnswersA408ToABodyThatTrickles) {
  Limits some = limits();
  some.body_min_rate = 100;
  Wire wire(bench_app(), some);
  wire.receive("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n");
  for (int i = 0; i < 3; ++i) wire.elapse(1s).receive("xx");
  EXPECT_EQ(wire.answers(), "");
  wire.elapse(1100ms);
  EXPECT_EQ(wire.answers(), "408 Request Timeout");
}

TEST(ConnectionTime, GivesARouteABodyTimeoutOfItsOwn) {
  Router app;
  app.post("/slow", [](Request& r) { return Response::bytes(r.take_body()); })
      .limits({.body_timeout = 10s});
  Wire wire(std::move(app), limits());
  wire.receive("POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(wire.elapse(9900ms).answers(), "");
  EXPECT_EQ(wire.elapse(200ms).answers(), "408 Request Timeout");
}

TEST(ConnectionTime, ResetsAClientThatDoesNotRead) {
  Wire wire(bench_app(), limits());
  wire.connection().set_window(10);
  wire.receive(kHealth).elapse(5s);
  wire.connection().set_window(10);
  wire.connection().drive();
  EXPECT_EQ(wire.elapse(5s).state(), "open");
  EXPECT_EQ(wire.elapse(1100ms).state(), "reset");
}

TEST(ConnectionTime, CanBeTurnedOff) {
  Limits none;
  none.head_timeout = none.body_timeout = none.idle_timeout = none.write_timeout = 0s;
  Wire wire(bench_app(), none);
  EXPECT_EQ(wire.elapse(24h).state(), "open");
  EXPECT_EQ(wire.receive(kHealth).elapse(24h).state(), "open");
}

TEST(ConnectionTime, LetsAHandlerTakeItsTimeUpToABound) {
  Router app;
  app.get("/slow",
          [](Request&) -> Task<Response> {
            co_await sleep(10s);
            co_return Response::text("slept");
          })
      .limits({.handler_timeout = 20s});
  app.get("/slower",
          [](Request& r) -> Task<Response> {
            const std::stop_token stop = r.stop_token();
            while (co_await sleep(1s)) {
            }
            co_await sleep(1h);
            co_return Response::text(stop.stop_requested() ? "stopped" : "not stopped");
          })
      .limits({.handler_timeout = 20s});
  Wire wire(std::move(app), limits());
  EXPECT_EQ(wire.receive("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n").elapse(9900ms).answers(), "");
  EXPECT_EQ(wire.elapse(200ms).answers(), "200 slept");
  EXPECT_EQ(wire.receive("GET /slower HTTP/1.1\r\nHost: a\r\n\r\n").elapse(19s).answers(), "");
  EXPECT_EQ(wire.elapse(1100ms).answers(), "503 Service Unavailable");
  EXPECT_EQ(wire.state(), "open");
}

TEST(ConnectionTime, DrainsIdleConnectionsAfterAGraceAndOthersWithTheirAnswer) {
  Router app = bench_app();
  app.get("/slow", [](Request&) -> Task<Response> {
    co_await sleep(2s);
    co_return Response::text("slept");
  });
  app::SocketlessServer server(std::move(app), limits());
  app::SocketlessConnection idle(server), busy(server), fresh(server), asking(server);
  idle.receive(kHealth);
  asking.receive(kHealth);
  EXPECT_EQ(asking.take_sent().find("Connection: close"), std::string::npos);
  busy.receive("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  server.engine().begin_drain(server.engine().now().mono + 10'000);
  for (auto* c : {&idle, &busy, &fresh, &asking}) {
    c->drive();
    EXPECT_FALSE(c->closed());
  }
  asking.receive(kHealth);  // was on its way
  EXPECT_NE(asking.take_sent().find("Connection: close"), std::string::npos);
  EXPECT_TRUE(asking.closed());
  fresh.receive(kHealth);
  EXPECT_NE(fresh.take_sent().find("Connection: close"), std::string::npos);
  EXPECT_TRUE(fresh.closed());
  idle.elapse(490ms);
  EXPECT_FALSE(idle.closed());
  idle.elapse(20ms);
  EXPECT_TRUE(idle.closed());
  busy.elapse(1600ms);
  EXPECT_NE(busy.take_sent().find("Connection: close"), std::string::npos);
  EXPECT_TRUE(busy.closed());
  EXPECT_TRUE(server.engine().finished());
}

TEST(ConnectionTime, DrainsWhatWasPipelinedToItsLastRequest) {
  Router app = bench_app();
  app.get("/slow", [](Request&) -> Task<Response> {
    co_await sleep(1s);
    co_return Response::text("slept");
  });
  const std::string slow = "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string echo =
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
  const std::string health(kHealth);
  app::SocketlessServer server(std::move(app), limits());
  app::SocketlessConnection begun(server), fast(server), split(server);
  begun.receive(slow + health + slow);
  split.receive(health + health.substr(0, 10));
  server.engine().begin_drain(server.engine().now().mono + 10'000);
  fast.receive(health + echo + health);
  split.receive(health.substr(10));
  for (auto* c : {&begun, &fast, &split}) c->elapse(2100ms);
  const std::pair<app::SocketlessConnection*, std::size_t> connections[] = {
      {&begun, 3}, {&fast, 3}, {&split, 2}};
  for (const auto& [connection, requests] : connections) {
    EXPECT_TRUE(connection->closed());
    std::string sent = connection->take_sent();
    EXPECT_EQ(take_answers(sent).size(), requests);
    EXPECT_EQ(sent, "");
  }
}

TEST(ConnectionTime, CutsWhatIsLeftAtTheDrainsDeadline) {
  bool stopped = false;
  Router app;
  app.get("/slow", [&](Request&) -> Task<Response> {
    stopped = !co_await sleep(1h);
    co_await sleep(1h);
    co_return Response::text("never");
  });
  app::SocketlessServer server(std::move(app), {});
  app::SocketlessConnection busy(server);
  busy.receive("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  server.engine().begin_drain(server.engine().now().mono + 1000);
  busy.elapse(900ms);
  EXPECT_FALSE(stopped);
  busy.elapse(110ms);
  EXPECT_TRUE(stopped);
  busy.elapse(200ms);
  EXPECT_TRUE(busy.closed());
  EXPECT_TRUE(server.engine().finished());
}

}  // namespace
}  // namespace leantea

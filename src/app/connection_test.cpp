// A connection between bytes and handlers: requests in, answers out, in order; when it ends and how.
#include "app/connection.hpp"

#include <gtest/gtest.h>

#include "support/wire.hpp"

namespace leantea {
namespace {

using test::bench_app;
using test::outcome_at_every_split;
using test::Wire;
using namespace std::chrono_literals;

constexpr std::string_view kHealth = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n";

std::string repeat(std::string_view bytes, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += bytes;
  return all;
}

TEST(Connection, AnswersAndGoesOn) {
  EXPECT_EQ(outcome_at_every_split(kHealth), "200 OK / open");
  EXPECT_EQ(outcome_at_every_split(repeat(kHealth, 3)), "200 OK, 200 OK, 200 OK / open");
}

TEST(Connection, WritesTheFieldsOfAnAnswer) {
  Wire wire(bench_app());
  EXPECT_EQ(wire.receive(kHealth).sent(),
            "HTTP/1.1 200 OK\r\nDate: Tue, 01 Dec 2026 00:00:00 GMT\r\n"
            "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 2\r\n\r\nOK");
  wire.elapse(1s).receive(kHealth);
  EXPECT_NE(wire.sent().find("00:00:01 GMT"), std::string::npos);
}

TEST(Connection, AnswersABatchInOnePiece) {
  app::SocketlessServer server(bench_app(), {});
  ASSERT_TRUE(server.engine().take_place());
  app::Connection connection(server.engine());
  connection.receive(repeat(kHealth, 16));
  std::array<struct iovec, 8> pieces;
  EXPECT_EQ(connection.output(pieces).count, 1u);
}

TEST(Connection, HasNoBodyForHead) {
  EXPECT_EQ(outcome_at_every_split("HEAD /health HTTP/1.1\r\nHost: a\r\n\r\n", bench_app, {0}),
            "200 / open");
  Wire wire(bench_app());
  wire.receive("HEAD /health HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(wire.sent().ends_with("Content-Length: 2\r\n\r\n"));
}

TEST(Connection, GivesTheBodyToTheHandler) {
  EXPECT_EQ(
      outcome_at_every_split("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"),
      "200 hello / open");
  EXPECT_EQ(
      outcome_at_every_split("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                             "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nT: v\r\n\r\n"),
      "200 abcdefg / open");
  EXPECT_EQ(outcome_at_every_split("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n" +
                                   std::string(kHealth)),
            "200, 200 OK / open");
}

TEST(Connection, PipelinesBodies) {
  const std::string echo = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  const std::string chunked =
      "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
  EXPECT_EQ(outcome_at_every_split(echo + chunked + std::string(kHealth) + echo),
            "200 abc, 200 hi, 200 OK, 200 abc / open");
}

// RFC 9112 §9.3, §C.2.2
TEST(Connection, EndsWhenTheClientSaysSo) {
  EXPECT_EQ(outcome_at_every_split("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
            "200 OK / closed");
  EXPECT_EQ(outcome_at_every_split("GET /health HTTP/1.0\r\n\r\n"), "200 OK / closed");
  EXPECT_EQ(outcome_at_every_split("GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
            "200 OK / open");
}

TEST(Connection, SaysThatItEnds) {
  Wire wire(bench_app());
  wire.receive("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").answers();
  EXPECT_TRUE(wire.last().at(0).has("Connection: close"));
  Wire old(bench_app());
  old.receive("GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").answers();
  EXPECT_TRUE(old.last().at(0).has("Connection: keep-alive"));
}

TEST(Connection, ReadsNothingAfterClose) {
  Wire wire(bench_app());
  wire.receive("GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" +
               std::string(kHealth));
  EXPECT_EQ(wire.answers(), "200 OK");
  EXPECT_EQ(wire.state(),
            "lingering");  // the client has sent more, which must not reset the answer away
}

TEST(Connection, AnswersWhatHasNoRoute) {
  EXPECT_EQ(outcome_at_every_split("GET /nope HTTP/1.1\r\nHost: a\r\n\r\n"),
            "404 Not Found / open");
  EXPECT_EQ(
      outcome_at_every_split("POST /nope HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" +
                             std::string(kHealth)),
      "404 Not Found, 200 OK / open");
  Wire wire(bench_app());
  EXPECT_EQ(wire.receive("DELETE /health HTTP/1.1\r\nHost: a\r\n\r\n").answers(),
            "405 Method Not Allowed");
  EXPECT_TRUE(wire.last().at(0).has("Allow: GET, HEAD, OPTIONS"));
  EXPECT_EQ(wire.receive("OPTIONS /echo HTTP/1.1\r\nHost: a\r\n\r\n").answers(), "204");
  EXPECT_TRUE(wire.last().at(0).has("Allow: POST, OPTIONS"));
  EXPECT_EQ(wire.receive("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").answers(), "204");
  EXPECT_EQ(wire.receive("BREW /health HTTP/1.1\r\nHost: a\r\n\r\n").answers(),
            "501 Not Implemented");
}

TEST(Connection, RefusesWhatIsMalformedAndLingers) {
  for (const std::string_view bytes :
       {"GET /health HTTP/1.1\r\n\r\n", "GET /health HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
        "GET  /health HTTP/1.1\r\nHost: a\r\n\r\n", "GET /health HTTP/1.1\r\nHost : a\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "\x16\x03\x01\x02\x05\x01\x05"}) {
    Wire wire(bench_app());
    EXPECT_EQ(wire.receive(bytes).answers(), "400 Bad Request") << bytes;
    EXPECT_EQ(wire.state(), "lingering");
    wire.receive("more and more");
    EXPECT_EQ(wire.elapse(2s).state(), "closed");
  }
}

TEST(Connection, AnswersEarlierRequestsBeforeAnError) {
  EXPECT_EQ(outcome_at_every_split(std::string(kHealth) + "GET /health HTTP/1.1\r\n\r\n"),
            "200 OK, 400 Bad Request / lingering");
}

TEST(Connection, RefusesAMalformedBody) {
  EXPECT_EQ(outcome_at_every_split(
                "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            "400 Bad Request / lingering");
}

TEST(Connection, RefusesABodyOverTheLimit) {
  Limits limits;
  limits.body_bytes = 4;
  EXPECT_EQ(
      outcome_at_every_split("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd",
                             bench_app, {}, limits),
      "200 abcd / open");
  EXPECT_EQ(outcome_at_every_split("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
                                   "chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
                                   bench_app, {}, limits),
            "413 Content Too Large / lingering");
  // Before any of it has come, as soon as its size is known.
  for (const auto* framing : {"Content-Length: 68719476736\r\n\r\n",
                              "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\nFFFFFFFFFFFFFFFF\r\n"}) {
    Wire wire(bench_app(), limits);
    wire.receive("POST /echo HTTP/1.1\r\nHost: a\r\n" + std::string(framing));
    EXPECT_EQ(wire.answers(), "413 Content Too Large") << framing;
    EXPECT_EQ(wire.state(), "lingering");
  }
}

TEST(Connection, GivesARouteABodyLimitOfItsOwn) {
  const auto routes = [] {
    Router app;
    const auto echo = [](Request& r) { return Response::bytes(r.take_body()); };
    app.post("/small", echo).limits({.body_bytes = 4});
    app.post("/large", echo).limits({.body_bytes = 6});
    return app;
  };
  Limits limits;
  limits.body_bytes = 5;
  const auto post = [](std::string_view path, std::string_view body) {
    return "POST " + std::string(path) +
           " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
  };
  EXPECT_EQ(
      outcome_at_every_split(post("/large", "abcdef") + post("/small", "abcd"), routes, {}, limits),
      "200 abcdef, 200 abcd / open");
  EXPECT_EQ(outcome_at_every_split(post("/small", "abcde"), routes, {}, limits),
            "413 Content Too Large / open");  // what little comes is dropped
}

// RFC 9112 §9.6: a client that has shut down its sending side still reads.
TEST(Connection, AnswersAHalfClosedClient) {
  Wire wire(bench_app());
  wire.receive(repeat(kHealth, 2)).receive_end();
  EXPECT_EQ(wire.answers(), "200 OK, 200 OK");
  EXPECT_EQ(wire.state(), "closed");
  Wire partial(bench_app());
  EXPECT_EQ(partial.receive("GET /hea").receive_end().answers(), "");
  EXPECT_EQ(partial.state(), "closed");
  Wire body(bench_app());
  body.receive("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhe").receive_end();
  EXPECT_EQ(body.answers(), "");
  EXPECT_EQ(body.state(), "closed");
}

TEST(Connection, StopsReadingWhenTheClientDoesNot) {
  Limits limits;
  limits.output_bytes = 1000;
  Wire wire(bench_app(), limits);
  wire.connection().set_window(0);
  wire.receive(repeat(kHealth, 100));
  EXPECT_FALSE(wire.connection().wants_input());
  EXPECT_LE(wire.connection().connection().output_size(), 1000u + 200u);
  wire.connection().set_window(SIZE_MAX);
  wire.connection().drive();
  EXPECT_EQ(test::take_answers(*std::make_unique<std::string>(wire.sent())).size(), 100u);
  EXPECT_TRUE(wire.connection().wants_input());
}

TEST(Connection, CountsItsRequests) {
  Limits limits;
  limits.requests_per_connection = 2;
  Wire wire(bench_app(), limits);
  EXPECT_EQ(wire.receive(kHealth).answers(), "200 OK");
  EXPECT_EQ(wire.receive(kHealth).answers(), "200 OK");
  EXPECT_TRUE(wire.last().at(0).has("Connection: close"));
  EXPECT_EQ(wire.state(), "closed");
}

// RFC 9110 §10.1.1
TEST(Connection, AsksForABodyThatWaitsForIt) {
  Wire wire(bench_app());
  wire.receive(
      "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(wire.sent(), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(wire.receive("hello").answers(), "200 hello");
  EXPECT_EQ(wire.state(), "open");
}

TEST(Connection, DoesNotAskForWhatIsRefused) {
  Wire wire(bench_app());
  wire.receive(
      "POST /nope HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(wire.answers(), "404 Not Found");
  EXPECT_NE(wire.state(), "open");  // whether the body comes cannot be known
  Wire odd(bench_app());
  odd.receive("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: tea\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(odd.answers(), "417 Expectation Failed");
  Wire old(bench_app());
  old.receive("POST /echo HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(old.sent(), "");
  EXPECT_EQ(old.receive("hello").answers(), "200 hello");
}

TEST(Connection, DoesNotAskWhenTheBodyIsThere) {
  EXPECT_EQ(Wire(bench_app())
                .receive("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: "
                         "100-continue\r\nContent-Length: 5\r\n\r\nhello")
                .answers(),
            "200 hello");
}

TEST(Connection, LetsAHookRefuseBeforeTheBody) {
  const auto app = [] {
    Router router;
    router.post("/in", [](Request& r) { return Response::bytes(r.take_body()); })
        .on_head([](const Request& r) {
          return r.header("Authorization")
                     ? std::nullopt
                     : std::optional<Response>(Response{Status::kUnauthorized});
        });
    return router;
  };
  Wire wire(app());
  wire.receive("POST /in HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(wire.answers(), "401");
  Wire allowed(app());
  allowed.receive(
      "POST /in HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nExpect: 100-continue\r\nContent-Length: "
      "2\r\n\r\n");
  EXPECT_EQ(allowed.receive("hi").answers(), "100, 200 hi");
}

TEST(Connection, TurnsAnExceptionIntoA500) {
  Router app;
  app.get("/throw", [](const Request&) -> Response { throw std::runtime_error("no tea"); });
  app.get("/split",
          [](const Request&) { return Response::text("x").header("X", "a\r\nSet-Cookie: b"); });
  Wire wire(std::move(app));
  EXPECT_EQ(wire.receive("GET /throw HTTP/1.1\r\nHost: a\r\n\r\n").answers(),
            "500 Internal Server Error");
  EXPECT_EQ(wire.receive("GET /split HTTP/1.1\r\nHost: a\r\n\r\n").answers(),
            "500 Internal Server Error");
  EXPECT_EQ(wire.state(), "open");
  ASSERT_EQ(wire.server().log().size(), 2u);
  EXPECT_NE(wire.server().log().at(0).find("no tea"), std::string::npos);
}

TEST(Connection, ShowsTheRequest) {
  Router app;
  app.get("/users/{id}/{rest...}", [](const Request& r) {
    return Response::text(std::string(r.param("id")) + "|" + std::string(r.param("rest")) + "|" +
                          std::string(r.path()) + "|" + std::string(r.query()) + "|" +
                          r.query_param("q").value_or("-") + "|" + std::string(r.authority()) +
                          "|" + std::string(r.header("x-y").value_or("-")));
  });
  Wire wire(std::move(app));
  wire.receive(
      "GET http://b.test:81/users/a%20b/./c/../d?q=1+2 HTTP/1.1\r\nHost: a\r\nX-Y: z\r\n\r\n");
  EXPECT_EQ(wire.answers(), "200 a b|d|/users/a b/d|q=1+2|1 2|b.test:81|z");
}

TEST(Connection, IsSmallWhenIdle) { EXPECT_LE(sizeof(app::Connection), 152u); }

}  // namespace
}  // namespace leantea

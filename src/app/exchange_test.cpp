// Handlers that wait: streaming both ways, sleeping, offloading, answers in order, cancellation.
#include "app/exchange.hpp"

#include <atomic>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "support/wire.hpp"

namespace leantea {
namespace {

using test::outcome_at_every_split;
using test::Wire;
using namespace std::chrono_literals;

constexpr std::string_view kChunkedPost =
    "POST /count HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
    "chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\nSum: 7\r\n\r\n";

Router waiting_app() {
  Router app;
  app.post("/count", [](Request& r) -> Task<Response> {
    std::uint64_t n = 0;
    while (auto chunk = co_await r.next_chunk()) n += chunk->size();
    co_return Response::text(std::to_string(n) + std::string(r.trailer("Sum").value_or("")));
  });
  app.post("/whole", [](Request& r) -> Task<Response> {
    co_await r.read_body();
    co_return Response::bytes(r.take_body());
  });
  app.post("/mixed", [](Request& r) -> Task<Response> {
    std::string all((co_await r.next_chunk()).value_or(""));
    const std::string rest(co_await r.read_body());
    all += rest;
    const bool more = (co_await r.next_chunk()).has_value();
    co_return Response::text(all + (more ? " and more" : "") +
                             (r.body() == rest ? "" : ", not kept"));
  });
  app.get("/sleep/{ms}", [](Request& r) -> Task<Response> {
    const int ms = std::stoi(std::string(r.param("ms")));
    const bool full = co_await sleep(std::chrono::milliseconds(ms));
    co_return Response::text((full ? "slept " : "woken ") + std::string(r.param("ms")));
  });
  app.get("/plain", [](const Request&) { return Response::text("plain"); });
  app.get("/ticks", [](const Request&) {
    return Response::stream("text/plain", [](Writer& out) -> Task<> {
      for (int i = 0; i < 3; ++i) {
        co_await out.write("tick\n");
        if (!co_await sleep(1s)) co_return;
      }
      static_cast<void>(out.trailer("Ticks", "3"));
    });
  });
  app.get("/flood/{bytes}", [](Request& r) -> Task<Response> {
    const auto bytes = std::stoull(std::string(r.param("bytes")));
    co_return Response::stream(
        "application/octet-stream",
        [bytes](Writer& out) -> Task<> { co_await out.write(std::string(bytes, 'x')); }, bytes);
  });
  app.get("/offload", [](Request&) -> Task<Response> {
    co_return Response::text(co_await offload([] { return std::string("from a worker"); }));
  });
  app.get("/throw", [](Request&) -> Task<Response> {
    co_await offload([] { throw std::runtime_error("spilt"); });
    co_return Response::text("not here");
  });
  app.get("/nested", [](Request&) -> Task<Response> {
    const auto add = [](int a, int b) -> Task<int> {
      co_await sleep(1ms);
      co_return a + b;
    };
    co_return Response::text(std::to_string(co_await add(1, 2) + co_await add(3, 4)));
  });
  app.get("/hints", [](Request& r) -> Task<Response> {
    static_cast<void>(r.early_hints({{"Link", "</style.css>; rel=preload"}}));
    co_return Response::text("page");
  });
  return app;
}

std::string get(std::string_view path) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

TEST(Exchange, StreamsContentToTheHandler) {
  EXPECT_EQ(outcome_at_every_split(kChunkedPost, waiting_app), "200 77 / open");
  EXPECT_EQ(outcome_at_every_split(
                "POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" + get("/plain"),
                waiting_app),
            "200 5, 200 plain / open");
  EXPECT_EQ(outcome_at_every_split(
                "POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", waiting_app),
            "200 hello / open");
}

TEST(Exchange, GivesContentOnceInChunksOrWhole) {
  for (const std::string content : {"hello", "a text that no string holds in itself"}) {
    const std::string post =
        "POST /mixed HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(content.size()) +
        "\r\n\r\n" + content;
    EXPECT_EQ(outcome_at_every_split(post, waiting_app), "200 " + content + " / open");
  }
}

TEST(Exchange, AsksForContentWhenTheHandlerDoes) {
  Wire wire(waiting_app());
  wire.receive(
      "POST /count HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(wire.answers(), "100");
  EXPECT_EQ(wire.receive("hello").answers(), "200 5");
}

TEST(Exchange, DoesNotReadWhatTheHandlerDoesNotWant) {
  Router app;
  app.post("/later", [](Request& r) -> Task<Response> {
    co_await sleep(10s);
    std::size_t n = 0;
    while (auto chunk = co_await r.next_chunk()) n += chunk->size();
    co_return Response::text(std::to_string(n));
  });
  Limits limits;
  limits.body_buffer_bytes = 1000;
  Wire wire(std::move(app), limits);
  wire.receive("POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n");
  EXPECT_TRUE(wire.connection().wants_input());
  wire.receive(std::string(1500, 'x'));
  EXPECT_FALSE(wire.connection().wants_input());
  wire.elapse(11s);
  EXPECT_TRUE(wire.connection().wants_input());
  EXPECT_EQ(wire.receive(std::string(3500, 'x')).answers(), "200 5000");
}

TEST(Exchange, AnswersInOrderWhateverEndsFirst) {
  Wire wire(waiting_app());
  wire.receive(get("/sleep/300") + get("/sleep/100") + get("/plain") + get("/sleep/200"));
  EXPECT_EQ(wire.elapse(250ms).answers(), "");
  EXPECT_EQ(wire.elapse(100ms).answers(), "200 slept 300, 200 slept 100, 200 plain, 200 slept 200");
  EXPECT_EQ(wire.state(), "open");
}

TEST(Exchange, BoundsTheRequestsInProgress) {
  Limits limits;
  limits.requests_in_progress = 2;
  Wire wire(waiting_app(), limits);
  wire.receive(get("/sleep/100") + get("/sleep/100") + get("/sleep/100") + get("/plain"));
  EXPECT_EQ(wire.connection().connection().in_progress(), 2u);
  EXPECT_FALSE(wire.connection().wants_input());
  EXPECT_EQ(wire.elapse(110ms).answers(), "200 slept 100, 200 slept 100");
  EXPECT_EQ(wire.elapse(110ms).answers(), "200 slept 100, 200 plain");
  EXPECT_TRUE(wire.connection().wants_input());
}

TEST(Exchange, StreamsAnAnswer) {
  Wire wire(waiting_app());
  wire.receive("GET /ticks HTTP/1.1\r\nHost: a\r\nTE: trailers\r\n\r\n");
  EXPECT_TRUE(wire.sent().ends_with("Transfer-Encoding: chunked\r\n\r\n5\r\ntick\n\r\n"));
  EXPECT_EQ(wire.elapse(1s).sent(), "5\r\ntick\n\r\n");
  wire.elapse(2s);
  EXPECT_EQ(wire.sent(), "5\r\ntick\n\r\n0\r\nTicks: 3\r\n\r\n");
  EXPECT_EQ(wire.receive(get("/plain")).answers(), "200 plain");
}

// RFC 9112 §6.1: no chunked coding for HTTP/1.0; the end of the connection is the end of the body.
TEST(Exchange, StreamsToHttp10UntilClose) {
  Wire wire(waiting_app());
  wire.receive("GET /ticks HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").elapse(4s);
  EXPECT_EQ(wire.answers(), "200 tick\ntick\ntick\n");
  EXPECT_TRUE(wire.last().at(0).until_close);
  EXPECT_TRUE(wire.last().at(0).has("Connection: close"));
  EXPECT_EQ(wire.state(), "closed");
}

TEST(Exchange, StreamsNothingForHead) {
  Wire wire(waiting_app());
  EXPECT_EQ(wire.receive("HEAD /ticks HTTP/1.1\r\nHost: a\r\n\r\n" + get("/plain")).answers({0}),
            "200, 200 plain");
}

TEST(Exchange, SuspendsAWriterWhoseClientDoesNotRead) {
  Limits limits;
  limits.output_bytes = 50'000;
  Wire wire(waiting_app(), limits);
  wire.connection().set_window(0);
  wire.receive(get("/flood/1000000"));
  EXPECT_LE(wire.connection().connection().output_size(), 50'000u + 16 * 1024 + 300);
  wire.connection().set_window(SIZE_MAX);
  wire.connection().drive();
  EXPECT_EQ(wire.answers(), "200 " + std::string(1'000'000, 'x'));
}

TEST(Exchange, EndsTheConnectionWhenAStreamBreaksOff) {
  Router app;
  app.get("/short", [](const Request&) {
    return Response::stream(
        "text/plain", [](Writer& out) -> Task<> { co_await out.write("abc"); }, 10);
  });
  app.get("/long", [](const Request&) {
    return Response::stream(
        "text/plain", [](Writer& out) -> Task<> { co_await out.write("abc"); }, 2);
  });
  app.get("/throw", [](const Request&) {
    return Response::stream("text/plain", [](Writer& out) -> Task<> {
      co_await out.write("abc");
      throw std::runtime_error("spilt");
    });
  });
  Wire shorter(std::move(app));
  for (const std::string_view path : {"/short", "/long", "/throw"}) {
    app::SocketlessConnection connection(shorter.server());
    connection.receive(get(path) + get("/short"));
    EXPECT_TRUE(connection.closed()) << path;
    EXPECT_EQ(connection.sent().find("\r\n0\r\n"), std::string::npos);
  }
  EXPECT_EQ(shorter.server().log().size(), 3u);
}

TEST(Exchange, ComesBackFromAWorker) {
  Wire wire(waiting_app());
  EXPECT_EQ(wire.receive(get("/offload")).worker().answers(), "200 from a worker");
  EXPECT_EQ(wire.receive(get("/throw")).worker().answers(), "500 Internal Server Error");
  EXPECT_EQ(wire.receive(get("/nested")).elapse(10ms).answers(), "200 10");
}

TEST(Exchange, SendsEarlyHints) {
  Wire wire(waiting_app());
  EXPECT_EQ(wire.receive(get("/hints")).answers(), "103, 200 page");
  wire.receive(get("/sleep/10") + get("/hints"));
  EXPECT_EQ(wire.elapse(20ms).answers(), "200 slept 10, 103, 200 page");
  EXPECT_EQ(Wire(waiting_app()).receive("GET /hints HTTP/1.0\r\n\r\n").answers(), "200 page");
}

TEST(Exchange, TellsAHandlerThatTheClientHasEnded) {
  Wire wire(waiting_app());
  wire.receive(get("/sleep/100000")).receive_end();
  EXPECT_EQ(wire.answers(), "200 woken 100000");
  EXPECT_EQ(wire.state(), "closed");
}

TEST(Exchange, DestroysAHandlerWhereItWaitsWhenTheClientIsGone) {
  struct Guard {
    int* count;
    ~Guard() { ++*count; }
  };
  int destroyed = 0;
  bool resumed = false, fired = false;
  Router app;
  app.post("/upload", [&](Request& r) -> Task<Response> {
    const Guard guard{&destroyed};
    const std::stop_callback callback(r.stop_token(), [&] { fired = true; });
    while (co_await r.next_chunk()) {
    }
    resumed = true;
    co_return Response{};
  });
  Wire wire(std::move(app));
  wire.receive("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\nabc");
  wire.connection().reset();
  EXPECT_EQ(destroyed, 1);
  EXPECT_TRUE(fired);
  EXPECT_FALSE(resumed);
}

TEST(Exchange, OutlivesItsConnectionWhileAWorkerUsesIt) {
  std::latch started(1), may_end(1);
  std::atomic<bool> stopped = false;
  bool resumed = false;
  Router app;
  app.get("/work", [&](Request& r) -> Task<Response> {
    const std::stop_token stop = r.stop_token();
    const std::string local = "still here";
    co_await offload([&] {
      started.count_down();
      may_end.wait();
      stopped = stop.stop_requested() && local == "still here";
    });
    resumed = true;
    co_return Response{};
  });
  Wire wire(std::move(app));
  wire.receive(get("/work"));
  started.wait();
  wire.connection().reset();
  EXPECT_TRUE(wire.connection().closed());
  EXPECT_FALSE(wire.server().engine().finished());
  may_end.count_down();
  while (!wire.server().engine().finished()) {
    wire.server().run_posted();
    std::this_thread::yield();
  }
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(resumed);
}

TEST(Exchange, AnswersA503InPlaceOfAHandlerThatIsOnAWorker) {
  std::latch may_end(1);
  Router app;
  app.get("/work",
          [&](Request&) -> Task<Response> {
            co_await offload([&] { may_end.wait(); });
            co_return Response::text("too late");
          })
      .limits({.handler_timeout = 1s});
  app.get("/plain", [](const Request&) { return Response::text("plain"); });
  Wire wire(std::move(app));
  wire.receive(get("/work") + get("/plain"));
  EXPECT_EQ(wire.elapse(1100ms).answers(), "503 Service Unavailable, 200 plain");
  may_end.count_down();
  EXPECT_EQ(wire.worker().answers(), "");  // the late answer goes nowhere
}

TEST(Exchange, KeepsWhatAPlainHandlerLentUntilItsTurn) {
  Router app = waiting_app();
  app.post("/echo", [](Request& r) { return Response::bytes(r.take_body()); });
  Wire wire(std::move(app));
  wire.receive(get("/sleep/10") +
               "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(wire.elapse(20ms).answers(), "200 slept 10, 200 hello");
}

TEST(Exchange, ReadsAndDropsContentThatNobodyAskedFor) {
  Router app;
  app.post("/early", [](Request&) -> Task<Response> { co_return Response::text("early"); });
  app.get("/plain", [](const Request&) { return Response::text("plain"); });
  Limits limits;
  limits.unread_body_bytes = 10;
  Wire wire(std::move(app), limits);
  wire.receive("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(wire.answers(), "200 early");
  EXPECT_EQ(wire.receive("defghij" + get("/plain")).answers(), "200 plain");
  wire.receive("POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 14\r\n\r\nabc");
  EXPECT_EQ(wire.answers(), "200 early");
  EXPECT_TRUE(wire.last().at(0).has("Connection: close"));
  EXPECT_EQ(wire.state(), "lingering");
}

}  // namespace
}  // namespace leantea

// Handlers that wait: for workers, for time, for the test. And what their stop token tells them.

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "backend_test.hpp"

namespace leantea::test {
namespace {

BACKEND_SUITE(Offload);

TEST_P(Offload, ComesBackWithTheResult) {
  serve();
  Client client = connect();
  for (int i = 0; i < 50; ++i) ASSERT_EQ(client.ask(get("/offload/0")), "200 done");
}

TEST_P(Offload, LeavesTheLoopToOthers) {
  serve();
  Client waits = connect();
  waits.send(get("/hold-offloaded"));
  ASSERT_TRUE(eventually([&] { return stage.working == 1; }));
  EXPECT_EQ(connect().ask(get("/health")), "200 OK");
  stage.open = true;
  EXPECT_EQ(waits.answer(), "200 home");
}

TEST_P(Offload, ManyAtOnceAllComeBack) {
  options.workers = 4;
  serve();
  std::vector<Client> clients = connect(40);
  for (Client& client : clients) client.send(get("/offload/2") + get("/offload/1"));
  for (Client& client : clients) EXPECT_EQ(client.answers(2), "200 done, 200 done");
}

TEST_P(Offload, OutlivesTheConnectionAndThenEnds) {
  options.limits.handler_timeout = 0ms;
  serve();
  Client client = connect();
  client.send(get("/hold-offloaded"));
  ASSERT_TRUE(eventually([&] { return stage.working == 1; }));
  client.reset();
  EXPECT_TRUE(eventually([&] { return stage.left == 1; }));
  EXPECT_EQ(stage.stopped, 1);
}

BACKEND_SUITE(StopToken);

TEST_P(StopToken, FiresWhenTheClientResets) {
  serve();
  Client client = connect();
  client.send(get("/hold-offloaded"));
  ASSERT_TRUE(eventually([&] { return stage.working == 1; }));
  client.reset();
  EXPECT_TRUE(eventually([&] { return stage.stopped == 1; }));
}

TEST_P(StopToken, FiresWhenTheClientEndsAndTheHandlerMayStillAnswer) {
  serve();
  Client client = connect();
  client.send(get("/hold"));
  ASSERT_TRUE(eventually([&] { return stage.entered == 1; }));
  client.shut_down();
  EXPECT_EQ(client.answer(), "200 stopped");
  EXPECT_EQ(client.end(), "closed");
}

TEST_P(StopToken, FiresWhileMoreInputWaitsThanIsWanted) {
  options.limits.requests_in_progress = 2;
  serve();
  Client client = connect();
  std::string requests = get("/hold-offloaded");
  for (int i = 0; i < 20; ++i) requests += get("/health");
  client.send(requests);
  ASSERT_TRUE(eventually([&] { return stage.working == 1; }));
  std::this_thread::sleep_for(20ms);
  client.shut_down();
  EXPECT_TRUE(eventually([&] { return stage.stopped == 1; }));
}

TEST_P(StopToken, FiresAtTheHandlersDeadlineWhichIsA503) {
  options.limits.handler_timeout = 50ms;
  serve();
  Client client = connect();
  EXPECT_EQ(client.ask(get("/hold-offloaded")), "503 Service Unavailable");
  EXPECT_TRUE(eventually([&] { return stage.left == 1; }));
  EXPECT_EQ(stage.stopped, 1);
}

TEST_P(StopToken, ConnectionGoesOnWhileAHandlerPastItsDeadlineIsOut) {
  options.limits.handler_timeout = 50ms;
  options.workers = 1;
  std::atomic<bool> let_go{false};
  app.get("/deaf", [this, &let_go](Request&) -> Task<Response> {
    const Stage::Visit visit(stage);
    co_await offload([&let_go] {
      while (!let_go) std::this_thread::sleep_for(1ms);
    });
    co_return Response::text("too late");
  });
  serve();
  Client client = connect();
  EXPECT_EQ(client.ask(get("/deaf")), "503 Service Unavailable");
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
  let_go = true;
  // Its end is not put off until the client comes again.
  EXPECT_TRUE(eventually([&] { return stage.left == 1; }));
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
}

BACKEND_SUITE(Sleep);

TEST_P(Sleep, WaitsWithoutHoldingTheLoop) {
  app.get("/sleep", [](Request&) -> Task<Response> {
    co_await sleep(100ms);
    co_return Response::text("slept");
  });
  serve();
  const auto began = std::chrono::steady_clock::now();
  std::vector<Client> clients = connect(20);
  for (Client& client : clients) client.send(get("/sleep"));
  EXPECT_EQ(connect().ask(get("/health")), "200 OK");
  for (Client& client : clients) EXPECT_EQ(client.answer(), "200 slept");
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GT(took, 100ms - kTick);
  EXPECT_LT(took, 20 * 100ms);
}

}  // namespace
}  // namespace leantea::test

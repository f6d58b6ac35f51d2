// The end of a server: nothing that was accepted is lost, and it comes in time.

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "backend_test.hpp"

namespace leantea::test {
namespace {

BACKEND_SUITE(Drain);

TEST_P(Drain, ClosesConnectionsThatRest) {
  serve();
  Client client = connect();
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
  server->drain();
  EXPECT_EQ(client.end(), "closed");
  server->wait();
}

TEST_P(Drain, AnswersWhatIsUnderWayAndCloses) {
  serve();
  Client client = connect();
  client.send(get("/hold"));
  ASSERT_TRUE(eventually([&] { return stage.entered == 1; }));
  server->drain();
  EXPECT_TRUE(client.quiet_for(50ms));
  stage.open = true;
  EXPECT_EQ(client.answer(), "200 held");
  EXPECT_TRUE(client.has("Connection: close"));
  EXPECT_EQ(client.end(), "closed");
  server->wait();
}

TEST_P(Drain, TakesTheRestOfAnUpload) {
  serve();
  Client client = connect();
  client.send(post_head("/size", 200'000) + "some");
  ASSERT_TRUE(eventually([&] { return stage.bytes_in == 4; }));
  server->drain();
  std::this_thread::sleep_for(20ms);
  client.send(std::string(199'996, 'r'));
  EXPECT_EQ(client.answer(), "200 200000");
  EXPECT_EQ(client.end(), "closed");
  server->wait();
}

TEST_P(Drain, TakesTheRestOfAHead) {
  serve();
  Client client = connect();
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
  client.send("GET /health HTTP/1.1\r\n");
  std::this_thread::sleep_for(50ms);  // until the server has it, and waits for more
  server->drain();
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(client.ask("Host: test\r\n\r\n"), "200 OK");
  EXPECT_EQ(client.end(), "closed");
  server->wait();
}

TEST_P(Drain, SendsAllOfALongAnswer) {
  serve();
  Client client = connect();
  client.send(get("/bytes/10000000"));
  ASSERT_TRUE(client.skip(1000));
  server->drain();
  std::this_thread::sleep_for(20ms);
  EXPECT_TRUE(client.skip(10'000'000 - 1000));
  server->wait();
}

TEST_P(Drain, AnswersAConnectionThatWasAccepted) {
  serve();
  Client client = connect();
  server->drain();
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
  EXPECT_EQ(client.end(),
            "closed");  // with that answer, or after it where the loop had not turned yet
  server->wait();
}

TEST_P(Drain, TakesNoNewConnections) {
  serve();
  Client held = connect();
  held.send(get("/hold"));
  ASSERT_TRUE(eventually([&] { return stage.entered == 1; }));
  server->drain();
  EXPECT_TRUE(eventually([&] { return !connect().connected(); }));
  stage.open = true;
  EXPECT_EQ(held.answer(), "200 held");
  server->wait();
}

TEST_P(Drain, AnswersARequestThatWasOnItsWay) {
  serve();
  Client client = connect();
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
  server->drain();  // between two requests, as every connection of a load is
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
  EXPECT_TRUE(client.has("Connection: close"));
  EXPECT_EQ(client.end(), "closed");
  server->wait();
}

TEST_P(Drain, AnswersAllThatWasPipelined) {
  serve();
  Client client = connect();
  client.send(get("/hold") + get("/count") + get("/hold"));
  ASSERT_TRUE(eventually([&] { return stage.entered == 2; }));
  server->drain();
  EXPECT_TRUE(client.quiet_for(50ms));
  stage.open = true;
  EXPECT_EQ(client.answers(3), "200 held, 200 OK, 200 held");
  EXPECT_TRUE(client.has("Connection: close"));
  EXPECT_EQ(client.end(), "closed");
  server->wait();
}

TEST_P(Drain, UnderLoadLosesNothing) {
  options.threads = 2;
  serve();
  std::atomic<int> answered{0};
  std::atomic<int> lost{0};
  std::atomic<bool> late{false};  // a client that the machine kept waiting may come too late
  const auto load = [&] {
    for (;;) {
      Client client = connect();
      if (!client.connected()) return;
      do {
        const bool in_time = !late;
        if (const std::string answer = client.ask(get("/count")); answer != "200 OK") {
          if (in_time) ++lost;
          break;
        }
      } while (++answered % 20 != 0 && !client.has("Connection: close"));
    }
  };
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(load);
  EXPECT_TRUE(eventually([&] { return answered > 500; }));
  server->drain();
  std::this_thread::sleep_for(200ms);
  late = true;
  server->wait();
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(stage.requests, answered);
}

TEST_P(Drain, CanBeAskedForTwice) {
  serve();
  Client client = connect();
  client.send(get("/hold"));
  ASSERT_TRUE(eventually([&] { return stage.entered == 1; }));
  server->drain(std::chrono::hours(1));
  EXPECT_TRUE(client.quiet_for(20ms));
  server->drain(1ms);
  EXPECT_EQ(client.answer(), "200 stopped");
  server->wait();
}

BACKEND_SUITE(DrainDeadline);

TEST_P(DrainDeadline, FiresStopTokensAndStillSendsTheAnswers) {
  serve();
  Client sleeps = connect();
  Client offloads = connect();
  sleeps.send(get("/hold"));
  offloads.send(get("/hold-offloaded"));
  ASSERT_TRUE(eventually([&] { return stage.entered == 2; }));
  server->drain(50ms);
  server->wait();
  EXPECT_EQ(stage.stopped, 2);
  EXPECT_EQ(sleeps.answer(), "200 stopped");
}

TEST_P(DrainDeadline, CutsWhatDoesNotEnd) {
  serve();
  Client uploads = connect();
  uploads.send(post_head("/size", 1000) + "and no more");
  Client reads_nothing = connect();
  reads_nothing.receive_buffer(16 * 1024);
  reads_nothing.send(get("/bytes/50000000"));
  ASSERT_TRUE(eventually([&] { return stage.bytes_in > 0 && stage.bytes_out > 0; }));
  const auto began = std::chrono::steady_clock::now();
  server->drain(50ms);
  server->wait();
  EXPECT_LT(std::chrono::steady_clock::now() - began, kPatience / 2);
  EXPECT_EQ(server->connections(), 0U);
  EXPECT_FALSE(reads_nothing.skip(50'000'000));
}

TEST_P(DrainDeadline, OfZeroStopsAtOnce) {
  serve();
  std::vector<Client> clients = connect(20);
  for (Client& client : clients) client.send(get("/hold"));
  ASSERT_TRUE(eventually([&] { return stage.entered == 20; }));
  server->stop();
  EXPECT_EQ(stage.left, 20);
}

TEST_P(DrainDeadline, WaitsForWorkersAfterAll) {
  app.get("/deaf", [this](Request&) -> Task<Response> {
    const Stage::Visit visit(stage);
    co_await offload([] { std::this_thread::sleep_for(300ms); });
    co_return Response::text("too late");
  });
  serve();
  Client client = connect();
  client.send(get("/deaf"));
  ASSERT_TRUE(eventually([&] { return stage.entered == 1; }));
  server->stop();
  EXPECT_EQ(stage.left, 1);
}

TEST_P(DrainDeadline, WithOffloadingOnSeveralLoopsUnderLoad) {
  options.threads = 2;
  options.workers = 4;
  serve();
  std::vector<Client> clients = connect(40);
  for (Client& client : clients) client.send(get("/offload/1") + get("/count") + get("/offload/3"));
  server->drain(30ms);
  for (Client& client : clients) client.answers(3);
  server->wait();
  EXPECT_EQ(server->connections(), 0U);
}

}  // namespace
}  // namespace leantea::test

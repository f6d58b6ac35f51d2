// Several loops (or accept workers) of one server, and many connections.

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend_test.hpp"

namespace leantea::test {
namespace {

BACKEND_SUITE(Loops);

/// Which threads answer, and how often.
class Answerers {
 public:
  Response operator()(const Request&) {
    const std::lock_guard lock(mutex_);
    ++answers_[std::this_thread::get_id()];
    return Response::text("me");
  }
  std::vector<int> counts() {
    const std::lock_guard lock(mutex_);
    std::vector<int> counts;
    for (const auto& [thread, count] : answers_) counts.push_back(count);
    return counts;
  }

 private:
  std::mutex mutex_;
  std::map<std::thread::id, int> answers_;
};

/// A hash of the kernel's chooses the listener, evenly only on average: 128 connections over two loops with a
/// standard deviation of 5.7 each. Loops give away what they have too much of.
TEST_P(Loops, ShareTheConnectionsWithinATenth) {
  if (!has_loops()) GTEST_SKIP() << "a thread for each connection, whoever accepted it";
  Answerers answerers;
  app.get("/who", [&](const Request& request) { return answerers(request); });
  options.threads = 2;
  serve();
  std::vector<Client> clients = connect(128);
  for (Client& client : clients) EXPECT_EQ(client.ask(get("/who")), "200 me");
  const std::vector<int> counts = answerers.counts();
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_NEAR(counts[0], 64, 6);
}

TEST_P(Loops, ShareTheConnectionsOfABurstAmongMany) {
  if (!has_loops()) GTEST_SKIP() << "a thread for each connection, whoever accepted it";
  Answerers answerers;
  app.get("/who", [&](const Request& request) { return answerers(request); });
  options.threads = 4;
  serve();
  std::vector<Client> clients = connect(400);
  for (Client& client : clients) client.send(get("/who"));
  for (Client& client : clients) EXPECT_EQ(client.answer(), "200 me");
  const std::vector<int> counts = answerers.counts();
  ASSERT_EQ(counts.size(), 4U);
  for (const int count : counts) EXPECT_NEAR(count, 100, 10);
}

TEST_P(Loops, ShareAgainWhenConnectionsHaveClosed) {
  if (!has_loops()) GTEST_SKIP() << "a thread for each connection, whoever accepted it";
  Answerers answerers;
  app.get("/who", [&](const Request& request) { return answerers(request); });
  options.threads = 2;
  serve();
  std::vector<Client> clients;
  for (int round = 0; round < 4; ++round) {
    clients.clear();
    ASSERT_TRUE(eventually_no_connections());
    clients = connect(128);
    for (Client& client : clients) EXPECT_EQ(client.ask(get("/who")), "200 me");
  }
  const std::vector<int> counts = answerers.counts();
  ASSERT_EQ(counts.size(), 2U);
  EXPECT_NEAR(counts[0], 4 * 64, 4 * 6);
}

TEST_P(Loops, OffloadAndComeBackToTheirOwn) {
  app.get("/home", [](Request&) -> Task<Response> {
    const auto before = std::this_thread::get_id();
    const auto away = co_await offload([] { return std::this_thread::get_id(); });
    const bool home = before == std::this_thread::get_id() && away != before;
    co_return Response::text(std::string(home ? "home" : "lost"));
  });
  options.threads = 3;
  serve();
  std::vector<Client> clients = connect(30);
  for (int round = 0; round < 5; ++round) {
    for (Client& client : clients) client.send(get("/home"));
    for (Client& client : clients) EXPECT_EQ(client.answer(), "200 home");
  }
}

TEST_P(Loops, StopTogether) {
  options.threads = 4;
  serve();
  std::vector<Client> clients = connect(40);
  for (Client& client : clients) EXPECT_EQ(client.ask(get("/health")), "200 OK");
  server->drain();
  for (Client& client : clients) EXPECT_EQ(client.end(), "closed");
  server->wait();
  EXPECT_EQ(server->connections(), 0U);
}

BACKEND_SUITE(Many);

TEST_P(Many, IdleConnectionsStayAndAreAnsweredAgain) {
  // Client and server are one process: two descriptors for each connection, three with threads.
  const std::size_t room = (spare_descriptors() - 200) / (has_loops() ? 2 : 3);
  const std::size_t most = has_loops() ? 10'000 : 1'000;
  const std::size_t wanted = kSanitized ? 500 : most;
  const std::size_t count = std::min(room, wanted);
  options.connection_threads = static_cast<unsigned>(count);
  serve();
  std::vector<Client> clients = connect(count);
  for (Client& client : clients) ASSERT_EQ(client.ask(get("/health")), "200 OK");
  // One that only looked whether the server is there may not be gone yet.
  EXPECT_TRUE(eventually([&] { return server->connections() == count; }));
  for (std::size_t i = 0; i < count; i += 97) ASSERT_EQ(clients[i].ask(get("/health")), "200 OK");
  clients.clear();
  EXPECT_TRUE(eventually_no_connections());
}

TEST_P(Many, IdleConnectionsCostNoTime) {
  serve();
  std::vector<Client> clients = connect(100);
  for (Client& client : clients) ASSERT_EQ(client.ask(get("/health")), "200 OK");
  const std::clock_t before = std::clock();  // of the whole process; the test itself sleeps
  std::this_thread::sleep_for(300ms);
  const std::clock_t spent = std::clock() - before;
  EXPECT_LT(spent, CLOCKS_PER_SEC / 20);
}

TEST_P(Many, ConnectionsInSuccessionLeaveNothingBehind) {
  serve();
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(connect().ask(get("/health", "Connection: close\r\n")), "200 OK");
  }
  EXPECT_TRUE(eventually_no_connections());
}

TEST_P(Many, ClientsAtOnceGetTheirOwnAnswers) {
  serve();
  std::vector<Client> clients = connect(100);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      clients[i].send(post("/echo", "client " + std::to_string(i)));
    }
    for (std::size_t i = 0; i < clients.size(); ++i) {
      EXPECT_EQ(clients[i].answer(), "200 client " + std::to_string(i));
    }
  }
}

}  // namespace
}  // namespace leantea::test

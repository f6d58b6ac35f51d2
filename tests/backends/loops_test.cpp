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

TEST_P(Loops, ShareTheConnections) {
  constexpr unsigned kLoops = 4;
  std::mutex mutex;
  std::map<std::thread::id, int> answered_by;
  app.get("/who", [&](const Request&) {
    const std::lock_guard lock(mutex);
    ++answered_by[std::this_thread::get_id()];
    return Response::text("me");
  });
  options.threads = kLoops;
  serve();
  std::vector<Client> clients = connect(400);
  for (Client& client : clients) EXPECT_EQ(client.ask(get("/who")), "200 me");

  server->stop();
  ASSERT_GE(answered_by.size(), kLoops);
  if (!has_loops()) return;  // a thread for each connection, whoever accepted it
  for (const auto& [thread, count] : answered_by)
    EXPECT_GT(count, 400 / static_cast<int>(kLoops) / 2);
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
  const std::size_t wanted = kSanitized ? 500 : has_loops() ? 10'000 : 1'000;
  const std::size_t count = std::min(room, wanted);
  options.connection_threads = static_cast<unsigned>(count);
  serve();
  std::vector<Client> clients = connect(count);
  for (Client& client : clients) ASSERT_EQ(client.ask(get("/health")), "200 OK");
  EXPECT_EQ(server->connections(), count);
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

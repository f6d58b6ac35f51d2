// More connections than there is room for: by Limits::connections, by threads, by file descriptors.

#include <string>
#include <thread>
#include <vector>

#include "backend_test.hpp"
#include "server_process.hpp"

namespace leantea::test {
namespace {

/// Those of the clients that have an answer when no more come. Each has sent a request.
std::vector<Client*> answered(std::vector<Client>& clients) {
  constexpr int kMostRounds = 20;
  std::vector<Client*> with_answer;
  std::vector<Client*> waiting;
  for (Client& client : clients) waiting.push_back(&client);
  for (int round = 0; round < kMostRounds; ++round) {
    std::this_thread::sleep_for(100ms);
    const std::size_t before = with_answer.size();
    std::erase_if(waiting, [&](Client* client) {
      if (client->quiet_for(1ms)) return false;
      EXPECT_EQ(client->answer(), "200 OK");
      with_answer.push_back(client);
      return true;
    });
    if (!with_answer.empty() && with_answer.size() == before) break;
  }
  return with_answer;
}

BACKEND_SUITE(ConnectionLimit);

TEST_P(ConnectionLimit, LetsOthersWaitInTheListenQueue) {
  options.limits.connections = 3;
  serve();
  std::vector<Client> inside = connect(3);
  for (Client& client : inside) EXPECT_EQ(client.ask(get("/health")), "200 OK");
  Client waits = connect();
  waits.send(get("/health"));
  EXPECT_TRUE(waits.quiet_for(150ms));
  EXPECT_EQ(inside[0].ask(get("/health")), "200 OK");
  inside[1].close();
  EXPECT_EQ(waits.answer(), "200 OK");
  EXPECT_TRUE(logged("Limits::connections"));
}

TEST_P(ConnectionLimit, HoldsOverAllLoops) {
  options.limits.connections = 10;
  options.threads = 3;
  serve();
  std::vector<Client> clients = connect(30);
  for (Client& client : clients) client.send(get("/health"));
  std::size_t served = 0;
  for (int rounds = 0; rounds < 100 && !clients.empty(); ++rounds) {
    for (Client* const client : answered(clients)) {
      ++served;
      client->reset();
    }
    EXPECT_LE(server->connections(), 10U);
    std::erase_if(clients, [](const Client& client) { return !client.connected(); });
  }
  EXPECT_EQ(served, 30U);
}

TEST_P(ConnectionLimit, RefusesOthersWhereThatIsWanted) {
  options.limits.connections = 2;
  options.limits.refuse_above_connections = true;
  serve();
  std::vector<Client> inside = connect(2);
  for (Client& client : inside) EXPECT_EQ(client.ask(get("/health")), "200 OK");
  for (int i = 0; i < 100; ++i) {
    Client refused = connect();
    ASSERT_EQ(refused.ask(get("/health")), "503 Service Unavailable");
    EXPECT_TRUE(refused.has("Connection: close"));
  }
  EXPECT_EQ(inside[0].ask(get("/health")), "200 OK");
  inside[1].close();
  EXPECT_TRUE(eventually([&] { return connect().ask(get("/health")) == "200 OK"; }));
}

TEST_P(ConnectionLimit, OfThreadsLetsOthersWaitToo) {
  if (has_loops()) GTEST_SKIP() << "has no thread for each connection";
  options.connection_threads = 2;
  serve();
  std::vector<Client> inside = connect(2);
  for (Client& client : inside) EXPECT_EQ(client.ask(get("/health")), "200 OK");
  Client waits = connect();
  waits.send(get("/health"));
  EXPECT_TRUE(waits.quiet_for(150ms));
  inside[0].close();
  EXPECT_EQ(waits.answer(), "200 OK");
  EXPECT_TRUE(logged("all connection threads are busy"));
}

TEST_P(ConnectionLimit, OfThreadsIsDrainedToo) {
  if (has_loops()) GTEST_SKIP() << "has no thread for each connection";
  options.connection_threads = 1;
  serve();
  Client inside = connect();
  EXPECT_EQ(inside.ask(get("/health")), "200 OK");
  std::vector<Client> wait = connect(5);
  for (Client& client : wait) client.send(get("/health"));
  EXPECT_TRUE(wait[4].quiet_for(50ms));
  server->drain();
  EXPECT_EQ(inside.end(), "closed");
  for (Client& client : wait) EXPECT_EQ(client.answer(), "200 OK");
  server->wait();
}

BACKEND_SUITE(OutOfDescriptors);

TEST_P(OutOfDescriptors, PausesAcceptingAndRecovers) {
  constexpr unsigned kDescriptors = 80;
  ServerProcess process(backend(), kDescriptors);
  std::vector<Client> clients;
  for (int i = 0; i < 120; ++i) clients.emplace_back(process.port());
  for (Client& client : clients) client.send(get("/health"));

  std::vector<Client*> inside = answered(clients);
  ASSERT_GE(inside.size(), 10U);
  EXPECT_LT(inside.size(), clients.size());

  // Those inside go on, and those outside cost nothing.
  const auto before = process.cpu_time();
  std::this_thread::sleep_for(400ms);
  EXPECT_LT(process.cpu_time() - before, 100ms);
  for (Client* const client : inside) EXPECT_EQ(client->ask(get("/health")), "200 OK");

  // As they leave, the others come in.
  std::size_t served = inside.size();
  while (!inside.empty()) {
    for (Client* const client : inside) client->close();
    std::erase_if(clients, [](const Client& client) { return !client.connected(); });
    if (clients.empty()) break;
    ASSERT_TRUE(eventually([&] { return !(inside = answered(clients)).empty(); }));
    served += inside.size();
  }
  EXPECT_EQ(served, 120U);
}

}  // namespace
}  // namespace leantea::test

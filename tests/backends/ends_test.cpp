// Clients that end their connection early, in all the ways there are.

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "backend_test.hpp"

namespace leantea::test {
namespace {

BACKEND_SUITE(HalfClose);

TEST_P(HalfClose, IsAnswered) {
  serve();
  Client client = connect();
  client.send(get("/health") + post("/echo", "last"));
  client.shut_down();
  EXPECT_EQ(client.answers(2), "200 OK, 200 last");
  EXPECT_EQ(client.end(), "closed");
}

TEST_P(HalfClose, IsAnsweredByAHandlerThatIsOut) {
  serve();
  Client client = connect();
  client.send(get("/offload/100"));
  client.shut_down();
  EXPECT_EQ(client.answer(), "200 done");
  EXPECT_EQ(client.end(), "closed");
}

TEST_P(HalfClose, GetsAllOfALongAnswer) {
  serve();
  Client client = connect();
  client.send(get("/bytes/3000000"));
  client.shut_down();
  EXPECT_EQ(client.answer().size(), 3'000'000 + 4U);
  EXPECT_EQ(client.end(), "closed");
}

TEST_P(HalfClose, WithoutARequestJustEnds) {
  serve();
  Client client = connect();
  client.shut_down();
  EXPECT_EQ(client.end(), "closed");
}

TEST_P(HalfClose, InAHeadOrABodyJustEnds) {
  serve();
  Client in_head = connect();
  in_head.send("GET /health HTT");
  in_head.shut_down();
  EXPECT_EQ(in_head.end(), "closed");
  Client in_body = connect();
  in_body.send(post_head("/echo", 10) + "half");
  in_body.shut_down();
  EXPECT_EQ(in_body.end(), "closed");
}

BACKEND_SUITE(Reset);

TEST_P(Reset, InAHeadFreesTheConnection) {
  serve();
  Client client = connect();
  client.send("GET /health HTT");
  ASSERT_TRUE(eventually([&] { return server->connections() == 1; }));
  client.reset();
  EXPECT_TRUE(eventually_no_connections());
}

TEST_P(Reset, InABodyFreesTheConnection) {
  serve();
  Client client = connect();
  client.send(post_head("/size", 1'000'000) + "some");
  ASSERT_TRUE(eventually([&] { return stage.bytes_in == 4; }));
  client.reset();
  EXPECT_TRUE(eventually_no_connections());
}

TEST_P(Reset, EndsAHandlerThatWaits) {
  serve();
  Client client = connect();
  client.send(get("/hold"));
  ASSERT_TRUE(eventually([&] { return stage.entered == 1; }));
  client.reset();
  EXPECT_TRUE(eventually([&] { return stage.left == 1; }));
  EXPECT_TRUE(eventually_no_connections());
}

TEST_P(Reset, AfterAHalfCloseEndsAHandlerThatWaits) {
  serve();
  Client client = connect();
  client.send(get("/hold-offloaded"));
  ASSERT_TRUE(eventually([&] { return stage.entered == 1; }));
  client.shut_down();
  client.reset();
  EXPECT_TRUE(eventually([&] { return stage.left == 1; }));
  EXPECT_TRUE(eventually_no_connections());
}

TEST_P(Reset, InALongAnswerFreesTheConnection) {
  serve();
  Client client = connect();
  client.send(get("/bytes/50000000"));
  ASSERT_TRUE(client.skip(1000));
  client.reset();
  EXPECT_TRUE(eventually_no_connections());
}

TEST_P(Reset, LeavesOthersAlone) {
  serve();
  Client other = connect();
  EXPECT_EQ(other.ask(get("/health")), "200 OK");
  for (int i = 0; i < 50; ++i) {
    Client client = connect();
    client.send(get("/health") + get("/bytes/100000"));
    client.reset();
  }
  EXPECT_EQ(other.ask(get("/health")), "200 OK");
  other.close();
  EXPECT_TRUE(eventually_no_connections());
}

BACKEND_SUITE(Vanishing);

TEST_P(Vanishing, ConnectionsThatNeverAsk) {
  serve();
  for (int i = 0; i < 200; ++i) Client client = connect();
  EXPECT_EQ(connect().ask(get("/health")), "200 OK");
  EXPECT_TRUE(eventually_no_connections());
}

TEST_P(Vanishing, ConnectionsThatAskAndLeave) {
  serve();
  for (int i = 0; i < 200; ++i) connect().send(get("/health"));
  EXPECT_EQ(connect().ask(get("/health")), "200 OK");
  EXPECT_TRUE(eventually_no_connections());
}

TEST_P(Vanishing, ConnectionsThatLeaveInTheListenQueue) {
  serve();
  for (int i = 0; i < 200; ++i) connect().reset();
  EXPECT_EQ(connect().ask(get("/health")), "200 OK");
  EXPECT_TRUE(eventually_no_connections());
}

/// What a client was about to do when it vanished: a head cut anywhere, bodies that break off, handlers that
/// wait and that are out with a worker, answers too long for the socket, and several at once.
const std::vector<std::string>& unfinished_business() {
  static const std::vector<std::string> kBusiness = {
      "GET /health HTTP/1.1\r\nHo",
      get("/health") + get("/health") + get("/he"),
      get("/hold"),
      get("/hold-offloaded"),
      get("/offload/2") + get("/hold") + get("/count"),
      get("/bytes/1000000"),
      get("/offload/1") + get("/bytes/1000000"),
      post_head("/echo", 100'000) + "some",
      post_head("/size", 100'000) + std::string(50'000, 's'),
      chunked_post_head("/size") + chunk("some"),
      post_head("/gate", 100'000) + std::string(70'000, 'g'),
      post_head("/echo", 10, "Expect: 100-continue\r\n"),
  };
  return kBusiness;
}

/// Begins something and vanishes, one way or another.
void come_and_vanish(Client client, std::mt19937& dice) {
  const std::vector<std::string>& business = unfinished_business();
  client.send_what_fits(business[dice() % business.size()]);
  if (dice() % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(dice() % 3000));
  if (dice() % 4 == 0) client.send_what_fits(business[dice() % business.size()]);
  if (dice() % 3 == 0) client.read_some(1000);
  if (dice() % 4 == 0) client.shut_down();
  if (dice() % 2 == 0) return client.reset();
  client.close();
}

TEST_P(Vanishing, ConnectionsInTheMidstOfAnything) {
  options.threads = 2;
  options.workers = 4;
  serve();
  const auto load = [&](unsigned seed) {
    std::mt19937 dice(seed);
    for (int i = 0; i < 150; ++i) come_and_vanish(connect(), dice);
  };
  std::vector<std::thread> clients;
  for (unsigned seed = 1; seed <= 4; ++seed) clients.emplace_back(load, seed);
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(connect().ask(get("/health")), "200 OK");
  EXPECT_TRUE(eventually_no_connections());
  EXPECT_TRUE(eventually([&] { return stage.left == stage.entered; }));
}

}  // namespace
}  // namespace leantea::test

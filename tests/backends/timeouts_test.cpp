// Deadlines: they fire although nothing happens on the socket, and not before their time.

#include <chrono>
#include <string>

#include "backend_test.hpp"

namespace leantea::test {
namespace {

BACKEND_SUITE(Timeouts);

TEST_P(Timeouts, OfAConnectionThatAsksNothing) {
  options.limits.head_timeout = 100ms;
  serve();
  Client client = connect();
  EXPECT_EQ(client.end(), "closed");
}

TEST_P(Timeouts, OfAHead) {
  options.limits.head_timeout = 100ms;
  serve();
  Client client = connect();
  client.send("GET /health HTTP/1.1\r\nHost: ");
  EXPECT_EQ(client.answer(), "408 Request Timeout");
  EXPECT_EQ(client.end(), "closed");
}

TEST_P(Timeouts, OfTheSecondHead) {
  options.limits.head_timeout = 100ms;
  serve();
  Client client = connect();
  client.send(get("/health") + "GET /health");
  EXPECT_EQ(client.answers(2), "200 OK, 408 Request Timeout");
}

TEST_P(Timeouts, OfAConnectionThatRests) {
  options.limits.idle_timeout = 100ms;
  serve();
  Client client = connect();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
  EXPECT_EQ(client.end(), "closed");
  EXPECT_GT(std::chrono::steady_clock::now() - began, 100ms - kTick);
}

TEST_P(Timeouts, AreNotMetByAConnectionThatIsUsed) {
  options.limits.idle_timeout = 400ms;
  options.limits.head_timeout = 400ms;
  serve();
  Client client = connect();
  const auto until = std::chrono::steady_clock::now() + 1s;
  while (std::chrono::steady_clock::now() < until) {
    ASSERT_EQ(client.ask(get("/health")), "200 OK");
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(client.end(), "closed");
}

TEST_P(Timeouts, OfABody) {
  options.limits.body_timeout = 100ms;
  serve();
  Client client = connect();
  EXPECT_EQ(client.ask(post_head("/echo", 10) + "half"), "408 Request Timeout");
  EXPECT_TRUE(client.has("Connection: close"));
}

TEST_P(Timeouts, OfAClientThatLingers) {
  options.limits.linger_timeout = 100ms;
  serve();
  Client client = connect();
  client.send("nonsense\r\n\r\n" + get("/health"));
  EXPECT_EQ(client.answer(), "400 Bad Request");
  EXPECT_EQ(client.end(), "closed");
  EXPECT_TRUE(eventually_no_connections());
}

TEST_P(Timeouts, SwitchedOffNeverFire) {
  options.limits.head_timeout = 0ms;
  options.limits.idle_timeout = 0ms;
  serve();
  Client client = connect();
  EXPECT_TRUE(client.quiet_for(100ms));
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
  EXPECT_TRUE(client.quiet_for(100ms));
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
}

}  // namespace
}  // namespace leantea::test

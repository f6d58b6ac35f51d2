// Requests on one connection, one after the other and many at once.

#include <string>

#include "backend_test.hpp"

namespace leantea::test {
namespace {

BACKEND_SUITE(KeepAlive);

TEST_P(KeepAlive, AnswersRequestAfterRequest) {
  serve();
  Client client = connect();
  for (int i = 0; i < 100; ++i) ASSERT_EQ(client.ask(get("/health")), "200 OK");
  EXPECT_TRUE(client.quiet_for(20ms));
}

TEST_P(KeepAlive, EndsWhenTheClientAsksForIt) {
  serve();
  Client client = connect();
  EXPECT_EQ(client.ask(get("/health", "Connection: close\r\n")), "200 OK");
  EXPECT_TRUE(client.has("Connection: close"));
  EXPECT_EQ(client.end(), "closed");
}

TEST_P(KeepAlive, EndsAtTheLastRequestOfAConnection) {
  options.limits.requests_per_connection = 1;
  serve();
  for (int i = 0; i < 3; ++i) {
    Client client = connect();
    EXPECT_EQ(client.ask(get("/health")), "200 OK");
    EXPECT_TRUE(client.has("Connection: close"));
    EXPECT_EQ(client.end(), "closed");
  }
  EXPECT_TRUE(eventually_no_connections());
}

TEST_P(KeepAlive, EndsWhenTheClientDoes) {
  serve();
  Client client = connect();
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
  client.close();
  EXPECT_TRUE(eventually_no_connections());
}

TEST_P(KeepAlive, TakesARequestThatComesByteByByte) {
  serve();
  Client client = connect();
  for (const char byte : post("/echo", "drip")) ASSERT_TRUE(client.send({&byte, 1}));
  EXPECT_EQ(client.answer(), "200 drip");
}

TEST_P(KeepAlive, TakesABodyLargerThanAnyBuffer) {
  serve();
  const std::string body(900'000, 'b');
  Client client = connect();
  EXPECT_EQ(client.ask(post("/echo", body)), "200 " + body);
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
}

BACKEND_SUITE(Pipelining);

TEST_P(Pipelining, AnswersInOrder) {
  serve();
  Client client = connect();
  client.send(get("/health") + get("/none") + post("/echo", "third") + get("/health"));
  EXPECT_EQ(client.answers(4), "200 OK, 404 Not Found, 200 third, 200 OK");
}

TEST_P(Pipelining, AnswersInOrderAlsoWhereHandlersWait) {
  serve();
  Client client = connect();
  client.send(get("/offload/50") + get("/health") + get("/offload/1") + get("/health"));
  EXPECT_EQ(client.answers(4), "200 done, 200 OK, 200 done, 200 OK");
}

TEST_P(Pipelining, AnswersAThousandAtOnce) {
  serve();
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += get("/count");
  Client client = connect();
  ASSERT_TRUE(client.send(requests));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(client.answer(), "200 OK");
  EXPECT_EQ(stage.requests, 1000);
}

TEST_P(Pipelining, EndsBehindTheRequestThatCloses) {
  serve();
  Client client = connect();
  client.send(get("/count") + get("/count", "Connection: close\r\n") + get("/count"));
  EXPECT_EQ(client.answers(2), "200 OK, 200 OK");
  EXPECT_EQ(client.end(), "closed");
  EXPECT_EQ(stage.requests, 2);
}

TEST_P(Pipelining, EndsBehindTheLastRequestOfAConnection) {
  options.limits.requests_per_connection = 1;
  serve();
  Client client = connect();
  client.send(get("/count") + get("/count") + get("/count"));
  EXPECT_EQ(client.answer(), "200 OK");
  EXPECT_TRUE(client.has("Connection: close"));
  EXPECT_EQ(client.end(), "closed");
  EXPECT_EQ(stage.requests, 1);
}

}  // namespace
}  // namespace leantea::test

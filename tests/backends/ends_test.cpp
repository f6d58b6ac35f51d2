// Clients that end their connection early, in all the ways there are.

#include <string>

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

}  // namespace
}  // namespace leantea::test

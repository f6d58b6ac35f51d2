// An engine: places for connections, time, and the end.
#include "app/engine.hpp"

#include <gtest/gtest.h>

#include "support/wire.hpp"

namespace leantea::app {
namespace {

using namespace std::chrono_literals;

TEST(Engine, CountsPlaces) {
  Limits limits;
  limits.connections = 2;
  SocketlessServer server(test::bench_app(), limits);
  Engine& engine = server.engine();
  {
    SocketlessConnection one(server), two(server);
    EXPECT_FALSE(engine.has_place());
    EXPECT_FALSE(engine.take_place());
  }
  EXPECT_TRUE(engine.take_place());
  engine.give_back_place();
  EXPECT_EQ(engine.connection_count(), 0u);
}

TEST(Engine, RefusesInHttp) {
  SocketlessServer server(test::bench_app(), {});
  std::string refusal(server.engine().refusal());
  const auto answers = test::take_answers(refusal);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].status, 503);
  EXPECT_TRUE(answers[0].has("Connection: close"));
}

TEST(Engine, SleepsUntilSomethingIsDue) {
  Limits limits;
  limits.head_timeout = 3s;
  SocketlessServer server(test::bench_app(), limits);
  EXPECT_EQ(server.engine().wait_ms(), -1);
  SocketlessConnection connection(server);
  EXPECT_GT(server.engine().wait_ms(), 0);
  EXPECT_LE(server.engine().wait_ms(), 3000);
  connection.elapse(4s);
  EXPECT_TRUE(connection.closed());
  EXPECT_EQ(server.engine().wait_ms(), -1);
}

TEST(Engine, DrainsToItsEnd) {
  SocketlessServer server(test::bench_app(), {});
  SocketlessConnection connection(server);
  server.engine().begin_drain(server.engine().now().mono + 10'000);
  EXPECT_TRUE(server.engine().draining());
  EXPECT_FALSE(server.engine().finished());
  connection.elapse(1s);  // no request came within the grace for new connections
  EXPECT_TRUE(server.engine().finished());
}

}  // namespace
}  // namespace leantea::app

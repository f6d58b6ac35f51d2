// A client that ends its sending side and then resets, while a streamed answer rests: no bytes to send would say that
// the client is gone. The uring backend watched nothing any more once it knew of the end, and kept the connection.

#include <string>

#include "backend_test.hpp"

namespace leantea::test {
namespace {

BACKEND_SUITE(ResetAfterEnd);

TEST_P(ResetAfterEnd, FreesAnAnswerThatRests) {
  app.get("/rest", [this](const Request&) {
    return Response::stream("text/plain", [this](Writer& out) -> Task<> {
      const Stage::Visit visit(stage);
      co_await out.write("one");
      for (;;)
        co_await sleep(1h);  // NOLINT(bugprone-infinite-loop): it is destroyed where it waits
    });
  });
  serve();
  Client client = connect();
  client.send(get("/rest"));
  client.shut_down();
  std::string came;
  ASSERT_TRUE(eventually([&] {
    came += client.read_some();
    return came.ends_with("3\r\none\r\n");
  }));
  client.reset();
  EXPECT_TRUE(eventually([&] { return stage.left == 1; }));
  EXPECT_TRUE(eventually_no_connections());
}

}  // namespace
}  // namespace leantea::test

// Answers that are made from their request's content while it comes, and content that never ends. Their producers
// waited for the next part for ever, and with them their connections: no deadline covers an answer whose head is
// out, and the content that would have been waited for was given up.

#include <string>
#include <string_view>

#include "backend_test.hpp"

namespace leantea::test {
namespace {

class UnfinishedContent : public BackendTest {
 protected:
  /// A client that has sent a head and some content to /through, and has got that back.
  Client begin(std::string_view head, std::string_view content, std::string_view comes_back) {
    app.post("/through", [this](Request& request) -> Task<Response> {
      co_return Response::stream("text/plain", [this, &request](Writer& out) -> Task<> {
        const Stage::Visit visit(stage);
        while (const auto part = co_await request.next_chunk()) co_await out.write(*part);
      });
    });
    serve();
    Client client = connect();
    client.send(std::string(head) + std::string(content));
    std::string came;
    EXPECT_TRUE(eventually([&] {
      came += client.read_some();
      return came.ends_with(comes_back);
    }));
    return client;
  }
  /// Nothing is left of the request, and the client does not take what it got for the whole.
  void expect_broken_off(Client& client) {
    EXPECT_TRUE(eventually([this] { return stage.left == 1; }));
    EXPECT_TRUE(client.end() != "bytes");
    EXPECT_TRUE(eventually_no_connections());
    EXPECT_FALSE(logged("broken off"));  // the handler has done nothing wrong
  }
};
INSTANTIATE_TEST_SUITE_P(, UnfinishedContent, testing::ValuesIn(backends()), backend_name);

TEST_P(UnfinishedContent, EndsTheAnswerWhenTheClientSendsNoMore) {
  Client client = begin(post_head("/through", 10), "half", "4\r\nhalf\r\n");
  client.shut_down();
  expect_broken_off(client);
}

TEST_P(UnfinishedContent, EndsTheAnswerWhenAChunkIsMalformed) {
  Client client = begin(chunked_post_head("/through"), chunk("half"), "4\r\nhalf\r\n");
  client.send("no size\r\n");
  expect_broken_off(client);
}

TEST_P(UnfinishedContent, EndsTheAnswerWhenItIsTooLarge) {
  options.limits.body_bytes = 6;
  Client client = begin(chunked_post_head("/through"), chunk("half"), "4\r\nhalf\r\n");
  client.send(chunk("half"));
  expect_broken_off(client);
}

TEST_P(UnfinishedContent, EndsTheAnswerWhenItIsTooSlow) {
  options.limits.body_timeout = 50ms;
  Client client = begin(post_head("/through", 10), "half", "4\r\nhalf\r\n");
  expect_broken_off(client);
}

}  // namespace
}  // namespace leantea::test

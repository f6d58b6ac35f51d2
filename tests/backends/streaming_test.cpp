// Content that streams, in both directions, and what holds it back.

#include <algorithm>
#include <string>
#include <thread>

#include "backend_test.hpp"

namespace leantea::test {
namespace {

BACKEND_SUITE(Upload);

TEST_P(Upload, IsSeenAsItComes) {
  serve();
  Client client = connect();
  client.send(chunked_post_head("/size") + chunk("one"));
  ASSERT_TRUE(eventually([&] { return stage.bytes_in == 3; }));
  client.send(chunk("three"));
  ASSERT_TRUE(eventually([&] { return stage.bytes_in == 8; }));
  client.send(kLastChunk);
  EXPECT_EQ(client.answer(), "200 8");
}

TEST_P(Upload, OfAnySizeArrivesWhole) {
  options.limits.body_bytes = 64 * 1024 * 1024;
  serve();
  const std::string part(1'000'000, 'p');
  Client client = connect();
  client.send(post_head("/size", 30 * part.size()));
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(client.send(part));
  EXPECT_EQ(client.answer(), "200 30000000");
}

TEST_P(Upload, WaitsForItsHandler) {
  options.limits.body_bytes = 64 * 1024 * 1024;
  serve();
  constexpr std::size_t kSize = 40'000'000;
  const std::string part(1'000'000, 'p');
  Client client = connect();
  client.send(post_head("/gate", kSize));
  ASSERT_TRUE(eventually([&] { return stage.entered == 1; }));
  // The handler takes nothing yet, so in the end the client cannot send any more.
  std::size_t sent = 0;
  for (int refused = 0; refused < 20 && sent < kSize;) {
    const std::size_t taken = client.send_what_fits(
        std::string_view(part).substr(0, std::min(part.size(), kSize - sent)));
    sent += taken;
    refused = taken == 0 ? refused + 1 : 0;
    if (taken == 0) std::this_thread::sleep_for(10ms);
  }
  EXPECT_LT(sent, kSize);
  stage.open = true;
  while (sent < kSize) {
    const std::size_t size = std::min(part.size(), kSize - sent);
    ASSERT_TRUE(client.send(std::string_view(part).substr(0, size)));
    sent += size;
  }
  EXPECT_EQ(client.answer(), "200 " + std::to_string(kSize));
}

TEST_P(Upload, ThatNobodyAskedForIsDroppedAndTheConnectionGoesOn) {
  app.post("/early", [](Request&) -> Task<Response> { co_return Response::text("early"); });
  serve();
  Client client = connect();
  client.send(post("/early", std::string(100'000, 'u')) + get("/health"));
  EXPECT_EQ(client.answers(2), "200 early, 200 OK");
}

TEST_P(Upload, ThatIsTooLargeIsAnsweredAlthoughItIsStillComing) {
  options.limits.body_bytes = 1000;
  serve();
  Client client = connect();
  client.send(post_head("/echo", 3'000'000));
  client.send_what_fits(std::string(500'000, 'u'));
  EXPECT_EQ(client.answer(), "413 Content Too Large");
  EXPECT_TRUE(client.has("Connection: close"));
}

BACKEND_SUITE(Download);

TEST_P(Download, ArrivesWhole) {
  serve();
  Client client = connect();
  client.send(get("/bytes/20000000") + get("/health"));
  EXPECT_EQ(client.answer(), "200 " + std::string(20'000'000, 'x'));
  EXPECT_EQ(client.answer(), "200 OK");
}

TEST_P(Download, IsSeenAsItIsWritten) {
  app.get("/slowly", [this](const Request&) {
    return Response::stream("text/plain", [this](Writer& out) -> Task<> {
      co_await out.write("one");
      while (!stage.open) co_await sleep(2ms);
      co_await out.write("two");
    });
  });
  serve();
  Client client = connect();
  client.send(get("/slowly"));
  std::string came;
  ASSERT_TRUE(eventually([&] {
    came += client.read_some();
    return came.ends_with("3\r\none\r\n");
  }));
  stage.open = true;
  ASSERT_TRUE(eventually([&] {
    came += client.read_some();
    return came.ends_with("3\r\ntwo\r\n0\r\n\r\n");
  }));
}

TEST_P(Download, RunsWhileAnUploadDoes) {
  app.post("/back", [](Request& request) -> Task<Response> {
    std::string all;
    while (const auto part = co_await request.next_chunk()) all += *part;
    co_return Response::bytes(std::move(all));
  });
  serve();
  const std::string body(700'000, 'd');
  std::vector<Client> clients = connect(4);
  for (Client& client : clients) client.send(get("/bytes/3000000"));
  for (Client& client : clients) ASSERT_TRUE(client.send(post("/back", body)));
  for (Client& client : clients) {
    EXPECT_EQ(client.answer().size(), 3'000'000 + 4U);
    EXPECT_EQ(client.answer(), "200 " + body);
  }
}

BACKEND_SUITE(ExpectContinue);

constexpr std::string_view kExpect = "Expect: 100-continue\r\n";

TEST_P(ExpectContinue, IsToldToGoOnWhereTheContentIsWanted) {
  serve();
  Client client = connect();
  EXPECT_EQ(client.ask(post_head("/echo", 4, kExpect)), "100");
  EXPECT_EQ(client.ask("body"), "200 body");
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
}

TEST_P(ExpectContinue, IsToldByTheHandlerThatReads) {
  serve();
  Client client = connect();
  client.send(post_head("/gate", 4, kExpect));
  ASSERT_TRUE(eventually([&] { return stage.entered == 1; }));
  EXPECT_TRUE(client.quiet_for(30ms));
  stage.open = true;
  EXPECT_EQ(client.answer(), "100");
  EXPECT_EQ(client.ask("body"), "200 4");
}

TEST_P(ExpectContinue, IsRefusedWhereTheContentIsNotWanted) {
  serve();
  Client client = connect();
  EXPECT_EQ(client.ask(post_head("/none", 4, kExpect)), "404 Not Found");
}

}  // namespace
}  // namespace leantea::test

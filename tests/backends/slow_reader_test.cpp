// Clients that do not read their answers, or read them slowly: what waits for them is bounded, and nothing
// of it is lost.

#include <algorithm>
#include <string>
#include <thread>

#include "backend_test.hpp"

namespace leantea::test {
namespace {

BACKEND_SUITE(SlowReader);

// More than a client and a server can have on the way between them with the buffers set below.
constexpr std::size_t kPlenty = 64 * 1024 * 1024;

/// Waits until a number has stopped growing; the number.
template <class Number>
std::uint64_t settled(const Number& number) {
  auto before = static_cast<std::uint64_t>(number);
  for (int same = 0; same < 10;) {
    std::this_thread::sleep_for(20ms);
    const auto now = static_cast<std::uint64_t>(number);
    same = now == before ? same + 1 : 0;
    before = now;
  }
  return before;
}

TEST_P(SlowReader, SuspendsAStreamedAnswer) {
  serve();
  Client client = connect();
  client.receive_buffer(16 * 1024);
  client.send(get("/bytes/" + std::to_string(kPlenty)));
  EXPECT_LT(settled(stage.bytes_out), kPlenty / 2);
  client.receive_buffer(4 * 1024 * 1024);  // the rest may come quickly
  EXPECT_EQ(client.answer().size(), kPlenty + 4);
}

TEST_P(SlowReader, IsNotReadFromAnyMore) {
  serve();
  Client client = connect();
  client.receive_buffer(16 * 1024);
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += get("/count");
  // The server stops reading, so that in the end the client cannot send either.
  std::uint64_t sent = 0;
  for (int refused = 0; refused < 20 && sent < kPlenty;) {
    const std::size_t taken = client.send_what_fits(
        std::string_view(requests).substr(static_cast<std::size_t>(sent) % requests.size()));
    sent += taken;
    refused = taken == 0 ? refused + 1 : 0;
    if (taken == 0) std::this_thread::sleep_for(20ms);
  }
  EXPECT_LT(sent, kPlenty);
  const std::uint64_t answered = settled(stage.requests);
  EXPECT_LT(answered, sent / get("/count").size());
}

TEST_P(SlowReader, GetsEverythingInOrder) {
  serve();
  Client client = connect();
  client.receive_buffer(16 * 1024);
  std::string requests;
  for (int i = 0; i < 20; ++i) requests += get("/bytes/100000") + get("/health");
  ASSERT_TRUE(client.send(requests));
  std::this_thread::sleep_for(50ms);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(client.answer().size(), 100'000 + 4U) << i;
    ASSERT_EQ(client.answer(), "200 OK") << i;
  }
}

TEST_P(SlowReader, TakesAFewBytesAtATime) {
  serve();
  Client client(server->port(), /*segment=*/1000);
  client.receive_buffer(4 * 1024);
  client.send(get("/bytes/400000", "Connection: close\r\n"));
  std::size_t got = 0;
  const bool all = eventually([&] {
    got += client.read_some(1500).size();
    return got > 400'000;
  });
  EXPECT_TRUE(all);
  EXPECT_EQ(client.read_some(), "");
}

TEST_P(SlowReader, DoesNotKeepOthersWaiting) {
  serve();
  Client slow = connect();
  slow.receive_buffer(16 * 1024);
  slow.send(get("/bytes/" + std::to_string(kPlenty)));
  settled(stage.bytes_out);
  Client quick = connect();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(quick.ask(get("/health")), "200 OK");
}

TEST_P(SlowReader, IsResetWhenItTakesNothingForTooLong) {
  options.limits.write_timeout = 100ms;
  serve();
  Client client = connect();
  client.receive_buffer(16 * 1024);
  client.send(get("/bytes/" + std::to_string(kPlenty)));
  ASSERT_TRUE(eventually([&] { return stage.bytes_out > 0; }));
  EXPECT_TRUE(eventually_no_connections());
  EXPECT_FALSE(client.skip(kPlenty));
}

}  // namespace
}  // namespace leantea::test

// The memory that one client can make a connection hold, beside the sum that bounds it: the worst that is known,
// as many requests as may be in progress, each with as much content as it may have.
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/live_bytes.hpp"
#include "support/wire.hpp"

namespace leantea::test {
namespace {

// Just above a doubling, where a string that grows by doubling has the most room to spare.
constexpr std::size_t kContent = 1'050'000;

/// /collect takes its content as a whole, /stream shows it a part at a time and stops in the midst of it.
Router hoarding_app() {
  Router app;
  app.post("/collect", [](Request& r) -> Task<Response> {
    co_await r.read_body();
    co_await sleep(std::chrono::hours(1));
    co_return Response::text("late");
  });
  app.post("/stream", [](Request& r) -> Task<Response> {
    while (co_await r.next_chunk()) co_await sleep(std::chrono::hours(1));
    co_return Response::text("late");
  });
  return app;
}

Limits hoarding_limits() {
  Limits limits;
  limits.body_bytes = kContent;
  limits.requests_in_progress = 6;
  limits.handler_timeout = Limits::milliseconds{0};
  return limits;
}

std::string chunks(std::size_t bytes) {
  std::string text;
  for (std::size_t left = bytes; left > 0;) {
    const std::size_t size = std::min<std::size_t>(left, 4096);
    std::array<char, 16> digits;
    const auto [end, error] = std::to_chars(digits.begin(), digits.end(), size, 16);
    text.append(digits.begin(), end).append("\r\n").append(size, 'x').append("\r\n");
    left -= size;
  }
  return text;
}

/// Sends `request` over and over while the connection reads, and returns the most that it held.
std::int64_t most_held(std::string_view request) {
  app::SocketlessServer server(hoarding_app(), hoarding_limits());
  const bool place = server.engine().take_place();
  EXPECT_TRUE(place);
  const std::int64_t before = live_bytes();
  std::int64_t most = 0;
  app::Connection connection(server.engine());
  for (std::size_t at = 0; connection.wants_input(); at %= request.size()) {
    const std::string_view piece = request.substr(at, 16 * 1024);
    connection.receive(piece);
    at += piece.size();
    most = std::max(most, live_bytes() - before);
  }
  EXPECT_EQ(connection.output_size(), 0U);  // nothing was refused
  return most;
}

void expect_within_the_sum(std::string_view fields, std::string_view path,
                           std::string_view content) {
  const std::string request = "POST " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" +
                              std::string(fields) + "\r\n" + std::string(content);
  const std::int64_t most = most_held(request);
  EXPECT_GT(most, 64 * 1024);
  EXPECT_LE(most, static_cast<std::int64_t>(hoarding_limits().connection_bound()))
      << path << fields;
}

TEST(Memory, OfAConnectionIsWithinTheSumOfItsLimits) {
  const std::string chunked = chunks(kContent) + "0\r\n\r\n";
  const std::string length = "Content-Length: " + std::to_string(kContent) + "\r\n";
  for (const auto* path : {"/collect", "/stream"}) {
    expect_within_the_sum("Transfer-Encoding: chunked\r\n", path, chunked);
    expect_within_the_sum(length, path, std::string(kContent, 'x'));
  }
}

}  // namespace
}  // namespace leantea::test

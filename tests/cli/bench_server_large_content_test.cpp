// Large contents that all come and go at once. The allocator gave their memory back to the kernel with each round, so
// that every page of the next one was made anew: up to fifteen times the processor time.

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <leantea/leantea.hpp>

#include "cli/bench_server.hpp"
#include "support/sanitized.hpp"

namespace leantea::cli {
namespace {

class BenchServerLargeContent : public BenchServer,
                                public testing::WithParamInterface<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(, BenchServerLargeContent, testing::ValuesIn(leantea::backends()),
                         [](const auto& test) { return std::string(test.param); });

/// Pages that were made for a process so far: the tenth field of its stat (proc(5): minflt).
long pages_made(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::istringstream behind_name(all.substr(all.rfind(')') + 1));
  std::vector<std::string> fields{std::istream_iterator<std::string>(behind_name), {}};
  return std::stol(fields.at(7));
}

TEST_P(BenchServerLargeContent, UsesItsMemoryAgain) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer brings its own allocator";
  constexpr std::size_t kClients = 16;
  constexpr std::size_t kContent = 1 << 20;
  constexpr int kRounds = 6;
  Serving server({"--backend", std::string(GetParam())});
  const std::string head =
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(kContent) + "\r\n\r\n";
  const std::string content(kContent, 'x');
  std::vector<End> clients;
  for (std::size_t i = 0; i < kClients; ++i) clients.push_back(server.connect());

  long before = 0;
  for (int round = 0; round < kRounds; ++round) {
    if (round == 1) before = pages_made(server.process().id());
    // All but the last byte of each, so that all contents are there at once.
    for (const End& client : clients) {
      send_all(client, head);
      send_all(client, std::string_view(content).substr(1));
    }
    for (const End& client : clients) send_all(client, "x");
    for (const End& client : clients) {
      const std::string answer_head = read_until(client.fd(), "\r\n\r\n");
      std::size_t left = kContent - (answer_head.size() - answer_head.find("\r\n\r\n") - 4);
      std::string buffer(1 << 16, ' ');
      while (left > 0) {
        const ssize_t got = ::read(client.fd(), buffer.data(), buffer.size());
        ASSERT_GT(got, 0);
        left -= static_cast<std::size_t>(got);
      }
    }
  }
  const long pages = pages_made(server.process().id()) - before;
  const long all = static_cast<long>((kRounds - 1) * kClients * kContent) / ::getpagesize();
  EXPECT_LT(pages, all / 10) << "of " << all;
}

}  // namespace
}  // namespace leantea::cli

// The bench server under load: clients that vanish in the midst of it, an end under full load, and clients that are
// slow on purpose. A sanitizer's complaint, leaks too, is the exit code, so this says most in ./dev sanitize.

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include <leantea/leantea.hpp>

#include "cli/bench_server.hpp"

namespace leantea::cli {
namespace {

using namespace std::chrono_literals;

class UnderLoad : public BenchServer, public testing::WithParamInterface<std::string_view> {
 protected:
  void SetUp() override {
    BenchServer::SetUp();
    for (const auto* tool : {"wrk", "ab", "slowhttptest"}) {
      if (std::system(("command -v " + std::string(tool) + " >/dev/null").c_str()) != 0)
        GTEST_SKIP() << tool << " is missing: apt-get install wrk apache2-utils slowhttptest";
    }
    const ServerOptions options{
        .port = 0, .backend = std::string(GetParam()), .log = [](std::string_view) {}};
    if (const auto started = Server(Router{}, options).start(); !started)
      GTEST_SKIP() << started.error();  // this machine does not let the backend run
  }

  static Serving serve(const Words& more = {}) {
    Words flags = {"--backend", std::string(GetParam()), "--threads", "2"};
    flags.insert(flags.end(), more.begin(), more.end());
    return Serving(flags);
  }

  static std::string url(const Serving& server, std::string_view path) {
    return "http://127.0.0.1:" + std::to_string(server.port()) + std::string(path);
  }
  static void expect_clean_end(Serving& server) {
    server.process().signal(SIGTERM);
    const std::string said = server.process().rest_of_err();
    EXPECT_EQ(server.process().wait(), 0) << said;
    EXPECT_FALSE(has(said, "Sanitizer")) << said;
  }
};
INSTANTIATE_TEST_SUITE_P(, UnderLoad, testing::ValuesIn(leantea::backends()),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(UnderLoad, ClientsMayVanish) {
  Serving server = serve();
  const std::string seconds = "20";  // longer than any of them lives
  for (int round = 0; round < 4; ++round) {
    const Process wrk({"wrk", "-t1", "-c50", "-d" + seconds, url(server, "/json")});
    const Process ab({"ab", "-q", "-c50", "-t" + seconds, "-n10000000", url(server, "/health")});
    const Process posts({"ab", "-q", "-k", "-c20", "-t" + seconds, "-n10000000", "-p", program(),
                         url(server, "/echo")});  // more content than the server takes
    std::this_thread::sleep_for(150ms);
  }
  EXPECT_TRUE(server.get("/health").ends_with("OK"));
  expect_clean_end(server);
}

TEST_P(UnderLoad, EndsWithoutLosingARequest) {
  Serving server = serve();
  Process wrk({"wrk", "-t1", "-c32", "-d1", url(server, "/health")});
  std::this_thread::sleep_for(400ms);
  expect_clean_end(server);
  const std::string told = wrk.rest_of_out();
  EXPECT_TRUE(has(told, "requests in")) << told;
  // A connection that was refused is a connect or a write error; a request without an answer is a read error.
  EXPECT_TRUE(!has(told, "Socket errors") || has(told, "read 0,")) << told;
  EXPECT_FALSE(has(told, "Non-2xx")) << told;
}

// Slow heads, bodies and readers, and ranges without end. Each would hold as many connections as it may have.
TEST_P(UnderLoad, OthersAreServedWhileClientsAreSlow) {
  Serving server = serve({"--head-timeout", "1", "--body-timeout", "1", "--idle-timeout", "1"});
  const auto attack = [&](const char* mode, std::string_view path) {
    return Process({"slowhttptest", mode, "-c100", "-r200", "-i1", "-l3", "-u", url(server, path)});
  };
  Process attacks[] = {attack("-H", "/health"), attack("-B", "/echo"), attack("-X", "/json"),
                       attack("-R", "/json")};
  using Clock = std::chrono::steady_clock;
  Clock::duration longest{};
  for (const auto began = Clock::now(); Clock::now() < began + 3s;) {
    const auto asked = Clock::now();
    ASSERT_TRUE(server.get("/health").ends_with("OK"));
    longest = std::max(longest, Clock::now() - asked);
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_LT(longest, 5s);
  for (Process& process : attacks) {
    process.signal(SIGINT);
    EXPECT_TRUE(has(process.rest_of_out(), "test type"));  // it was at work
  }
  expect_clean_end(server);
}

}  // namespace
}  // namespace leantea::cli

// The bench server as its users start it: what it prints, what its flags do, and that every mistake is
// one line on standard error that says what to do, with exit code 2.

#include "cli/bench_server.hpp"

#include <signal.h>

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace leantea::cli {
namespace {

using BenchServerMistakes = BenchServer;

// ---- Serving ----

TEST_F(BenchServer, SaysAddressRoutesAndBackend) {
  const Serving server({});
  EXPECT_TRUE(has(server.said(), "http://127.0.0.1:" + std::to_string(server.port()) + "\n"));
  for (const auto* route : {"GET  /health", "GET  /json", "POST /echo"})
    EXPECT_TRUE(has(server.said(), route)) << server.said();
  EXPECT_TRUE(has(server.said(), "backend reactor, 1 loop")) << server.said();
}

TEST_F(BenchServer, HasItsThreeRoutes) {
  const Serving server({});
  const std::string health = server.get("/health");
  EXPECT_TRUE(health.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(has(health, "Content-Type: text/plain"));
  EXPECT_TRUE(health.ends_with("\r\n\r\nOK"));
  const std::string json = server.get("/json");
  EXPECT_TRUE(has(json, "Content-Type: application/json\r\n"));
  EXPECT_TRUE(
      json.ends_with("\r\n\r\n"
                     R"({"ok":true,"service":"leantea/bench","build":"release","count":42,)"
                     R"("tags":["bench","cpp"]})"))
      << json;
  const std::string echo = server.exchange(
      "POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: text/x\r\n"
      "Content-Length: 5\r\n\r\nhello");
  EXPECT_TRUE(has(echo, "Content-Type: application/octet-stream\r\n"));
  EXPECT_TRUE(echo.ends_with("\r\n\r\nhello"));
}

TEST_F(BenchServer, EndsByASignalWithCodeZero) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Serving server({});
    server.process().signal(signal);
    EXPECT_EQ(server.process().wait(), 0);
  }
}

// ---- Flags ----

TEST_F(BenchServer, ChoosesTheBackendByFlagsFirst) {
  EXPECT_TRUE(has(Serving({"--backend", "reactor:2"}).said(), "backend reactor, 2 loops"));
  EXPECT_TRUE(has(Serving({"--threads", "2"}).said(), "backend reactor, 2 loops"));
  const std::string variable = "LEANTEA_HTTP_BACKEND=reactor:3";
  EXPECT_TRUE(has(Serving({}, variable).said(), "backend reactor, 3 loops"));
  EXPECT_TRUE(has(Serving({"--threads", "2"}, variable).said(), "backend reactor, 2 loops"));
  EXPECT_TRUE(has(Serving({"--backend", "reactor"}, variable).said(), "backend reactor, 1 loop"));
  EXPECT_TRUE(has(Serving({"--reactor"}, "LEANTEA_HTTP_BACKEND=nonsense").said(),
                  "backend reactor, 1 loop"));
}

TEST_F(BenchServer, FastIsTheThreadsBackend) {
  Process list(bench_server({"--list-backends"}));
  if (!has(list.rest_of_out(), "threads\n")) GTEST_SKIP() << "not in this build";
  EXPECT_TRUE(has(Serving({"--fast", "2"}).said(), "backend threads, 2 loops"));
}

TEST_F(BenchServer, ListensOnSeveralAddresses) {
  const Serving server({"--address", "127.0.0.1:0", "--address", "127.0.0.1:0"});
  const std::string_view said = server.said();
  const std::size_t first = said.find("http://127.0.0.1:");
  EXPECT_NE(said.find("http://127.0.0.1:", first + 1), std::string_view::npos) << said;
}

TEST_F(BenchServer, CanCloseAfterEveryAnswer) {
  const Serving server({"--no-keep-alive"});
  const std::string answer = server.exchange("GET /health HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(has(answer, "Connection: close\r\n"));
}

TEST_F(BenchServer, TakesTimeoutsInFractionsOfSeconds) {
  const Serving server({"--head-timeout", "0.05", "--idle-timeout", "0.05"});
  EXPECT_TRUE(server.exchange("GET /health HTTP/1.1\r\n").starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(server.exchange("GET /health HTTP/1.1\r\nHost: a\r\n\r\n").ends_with("OK"));
}

TEST_F(BenchServer, ListsBackendsOnePerLine) {
  Process process(bench_server({"--list-backends"}));
  EXPECT_TRUE(process.rest_of_out().starts_with("reactor\n"));
  EXPECT_EQ(process.wait(), 0);
}

TEST_F(BenchServer, TellsItsVersionAndItsFlags) {
  Process version(bench_server({"--version"}));
  EXPECT_TRUE(version.rest_of_out().starts_with("bench_server (LeanTea) "));
  EXPECT_EQ(version.wait(), 0);
  Process help(bench_server({"--help"}));
  EXPECT_TRUE(has(help.rest_of_out(), "--no-keep-alive"));
  EXPECT_EQ(help.wait(), 0);
}

// ---- Mistakes ----

TEST_F(BenchServerMistakes, AnUnknownFlag) {
  EXPECT_TRUE(has(complaint({"--prot", "80"}), "--prot"));
  EXPECT_TRUE(has(complaint({"8080"}), "8080"));
}

TEST_F(BenchServerMistakes, ANumberThatIsNone) {
  for (const auto* flag : {"--port", "--threads", "--fast", "--workers", "--max-connections"}) {
    for (const auto* text : {"x", "-1", "1.5", "", "99999999999999999999"}) {
      const std::string line = complaint({flag, text});
      EXPECT_TRUE(has(line, flag) && has(line, "is not a whole number from")) << line;
    }
  }
  EXPECT_TRUE(
      has(complaint({"--port", "65536"}), "\"65536\" is not a whole number from 0 to 65535"));
  EXPECT_TRUE(has(complaint({"--threads", "0"}), "from 1 to"));
  for (const auto* flag : {"--head-timeout", "--body-timeout", "--idle-timeout"}) {
    for (const auto* text : {"soon", "-1", "nan", "inf", "1s"}) {
      const std::string line = complaint({flag, text});
      EXPECT_TRUE(has(line, flag) && has(line, "is not a number of seconds")) << line;
    }
  }
}

TEST_F(BenchServerMistakes, AFlagWithoutItsValue) {
  EXPECT_TRUE(has(complaint({"--port"}), "--port"));
}

TEST_F(BenchServerMistakes, FlagsThatContradictEachOther) {
  const auto contradict = [](const Words& flags) {
    return has(complaint(flags), "contradict each other: give one of them");
  };
  EXPECT_TRUE(contradict({"--reactor", "--fast", "2"}));
  EXPECT_TRUE(contradict({"--reactor", "--backend", "uring"}));
  EXPECT_TRUE(contradict({"--fast", "2", "--backend", "uring"}));
  EXPECT_TRUE(contradict({"--fast", "2", "--threads", "2"}));
  EXPECT_TRUE(contradict({"--backend", "reactor:2", "--threads", "2"}));
  EXPECT_TRUE(contradict({"--address", ":0", "--port", "0"}));
}

TEST_F(BenchServerMistakes, ABackendThatDoesNotExist) {
  EXPECT_TRUE(has(complaint({"--backend", "fastest"}), "there is no backend \"fastest\""));
  EXPECT_TRUE(has(complaint({"--backend", "reactor:x"}), "write NAME or NAME:N"));
  EXPECT_TRUE(has(complaint({}, "LEANTEA_HTTP_BACKEND=fastest"), "LEANTEA_HTTP_BACKEND: "));
  EXPECT_TRUE(
      has(complaint({"--threads", "2"}, "LEANTEA_HTTP_BACKEND=fastest"), "LEANTEA_HTTP_BACKEND: "));
}

TEST_F(BenchServerMistakes, APortInUse) {
  const Serving server({});
  const std::string port = std::to_string(server.port());
  EXPECT_TRUE(has(complaint({"--port", port}), port));
  EXPECT_TRUE(has(complaint({"--port", port, "--threads", "2"}), port));
}

TEST_F(BenchServerMistakes, NoRoomForWhatWasAskedFor) {
  for (const std::string flag : {"--help", "--list-backends"}) {
    Process process({"sh", "-c", "exec \"$0\" \"$1\" >/dev/full", program(), flag});
    EXPECT_TRUE(has(process.rest_of_err(), "cannot write to the standard output")) << flag;
    EXPECT_EQ(process.wait(), 1) << flag;
  }
}

TEST_F(BenchServerMistakes, AnAddressThatIsNone) {
  EXPECT_TRUE(has(complaint({"--address", "nonsense"}), "nonsense"));
  EXPECT_TRUE(has(complaint({"--host", "no.such.host.invalid"}), "no.such.host.invalid"));
}

}  // namespace
}  // namespace leantea::cli

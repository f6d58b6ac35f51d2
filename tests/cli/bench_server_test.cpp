// The bench server as its users start it: what it prints, what its flags do, and that every mistake is
// one line on standard error that says what to do, with exit code 2.

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace leantea::cli {
namespace {

using Words = std::vector<std::string>;

std::string program() {
  const char* const named = std::getenv("LEANTEA_BENCH_SERVER");
  return named != nullptr ? named : LEANTEA_BENCH_SERVER;
}

/// Skips the tests where the build has no bench server.
class BenchServer : public testing::Test {
 protected:
  void SetUp() override {
    if (::access(program().c_str(), X_OK) != 0) GTEST_SKIP() << program() << " is not built";
  }
};
using BenchServerMistakes = BenchServer;

/// One end of a pipe, closed at the end of its life.
class End {
 public:
  explicit End(int fd) : fd_(fd) {}
  End(End&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  End& operator=(End&&) = delete;
  ~End() { close(); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

struct Pipe {
  End read;
  End write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return {End{ends[0]}, End{ends[1]}};
}

/// Reads until `until` came, or the end.
std::string read_until(int fd, std::string_view until) {
  std::string all;
  std::array<char, 4096> buffer{};
  pollfd readable{fd, POLLIN, 0};
  while (until.empty() || all.find(until) == std::string::npos) {
    if (::poll(&readable, 1, 20'000) != 1) {
      ADD_FAILURE() << "nothing came in time behind: " << all;
      break;
    }
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got <= 0) break;
    all.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return all;
}

/// The program, started with these flags and, besides ours, one variable of the environment.
class Process {
 public:
  explicit Process(const Words& flags, const std::string& variable = "LEANTEA_HTTP_BACKEND=")
      : out_(make_pipe()), err_(make_pipe()) {
    Words words = {program()};
    words.insert(words.end(), flags.begin(), flags.end());
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::vector<char*> environment;
    std::string own = variable;
    for (char** entry = environ; *entry != nullptr; ++entry)
      if (!std::string_view(*entry).starts_with("LEANTEA_HTTP_BACKEND="))
        environment.push_back(*entry);
    environment.push_back(own.data());
    environment.push_back(nullptr);

    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_adddup2(&files, out_.write.fd(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files, err_.write.fd(), STDERR_FILENO);
    EXPECT_EQ(
        ::posix_spawn(&pid_, arguments[0], &files, nullptr, arguments.data(), environment.data()),
        0)
        << arguments[0];
    ::posix_spawn_file_actions_destroy(&files);
    out_.write.close();
    err_.write.close();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  void signal(int number) const { ::kill(pid_, number); }
  std::string out_until(std::string_view until) const { return read_until(out_.read.fd(), until); }
  std::string rest_of_out() const { return read_until(out_.read.fd(), ""); }
  std::string rest_of_err() const { return read_until(err_.read.fd(), ""); }
  /// Its exit code, or -1 when a signal ended it.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, 0), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  Pipe out_;
  Pipe err_;
  pid_t pid_ = 0;
};

/// A server on a free port, which has said where it listens.
class Serving {
 public:
  explicit Serving(Words flags, const std::string& variable = "LEANTEA_HTTP_BACKEND=")
      : process_(with_free_port(std::move(flags)), variable) {
    said_ = process_.out_until(" loop");
    constexpr std::string_view kUrl = "http://127.0.0.1:";
    const std::size_t at = said_.find(kUrl);
    if (at == std::string::npos) {
      ADD_FAILURE() << "it did not say where it listens: " << said_;
      return;
    }
    port_ = static_cast<std::uint16_t>(std::atoi(said_.c_str() + at + kUrl.size()));
  }

  const std::string& said() const { return said_; }
  std::uint16_t port() const { return port_; }
  Process& process() { return process_; }

  /// Sends bytes on a connection of their own, and returns all that comes until `until` or the end.
  std::string exchange(std::string_view bytes, std::string_view until = "") const {
    const End fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.fd(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    EXPECT_EQ(::send(fd.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    return read_until(fd.fd(), until);
  }
  std::string get(std::string_view path) const {
    return exchange("GET " + std::string(path) +
                    " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  }

 private:
  static Words with_free_port(Words flags) {
    if (std::ranges::find(flags, "--address") == flags.end())
      flags.insert(flags.end(), {"--port", "0"});
    return flags;
  }

  Process process_;
  std::string said_;
  std::uint16_t port_ = 0;
};

bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

/// What a start that must fail says: one line, and nothing on standard output.
std::string complaint(const Words& flags, const std::string& variable = "LEANTEA_HTTP_BACKEND=") {
  Process process(flags, variable);
  EXPECT_EQ(process.rest_of_out(), "");
  std::string line = process.rest_of_err();
  EXPECT_EQ(process.wait(), 2);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
  EXPECT_TRUE(line.ends_with('\n')) << line;
  return line;
}

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
  Process list({"--list-backends"});
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
  Process process({"--list-backends"});
  EXPECT_TRUE(process.rest_of_out().starts_with("reactor\n"));
  EXPECT_EQ(process.wait(), 0);
}

TEST_F(BenchServer, TellsItsVersionAndItsFlags) {
  Process version({"--version"});
  EXPECT_TRUE(version.rest_of_out().starts_with("bench_server (LeanTea) "));
  EXPECT_EQ(version.wait(), 0);
  Process help({"--help"});
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
}

TEST_F(BenchServerMistakes, APortInUse) {
  const Serving server({});
  const std::string port = std::to_string(server.port());
  EXPECT_TRUE(has(complaint({"--port", port}), port));
  EXPECT_TRUE(has(complaint({"--port", port, "--threads", "2"}), port));
}

TEST_F(BenchServerMistakes, AnAddressThatIsNone) {
  EXPECT_TRUE(has(complaint({"--address", "nonsense"}), "nonsense"));
  EXPECT_TRUE(has(complaint({"--host", "no.such.host.invalid"}), "no.such.host.invalid"));
}

}  // namespace
}  // namespace leantea::cli

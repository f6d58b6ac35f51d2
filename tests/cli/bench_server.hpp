// BenchServer: the bench server as its users start it, as a process of its own, and other programs beside it.
#pragma once

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

using Words = std::vector<std::string>;

inline std::string program() {
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

inline Pipe make_pipe() {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  return {End{ends[0]}, End{ends[1]}};
}

/// Reads until `until` came, or the end.
inline std::string read_until(int fd, std::string_view until) {
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

/// Sends all of it on a socket that waits.
inline void send_all(const End& socket, std::string_view bytes) {
  EXPECT_EQ(::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

/// A program with its arguments, started with, besides ours, one variable of the environment.
class Process {
 public:
  explicit Process(Words words, const std::string& variable = "LEANTEA_HTTP_BACKEND=")
      : out_(make_pipe()), err_(make_pipe()) {
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
        ::posix_spawnp(&pid_, arguments[0], &files, nullptr, arguments.data(), environment.data()),
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

  pid_t id() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  std::string out_until(std::string_view until) const { return read_until(out_.read.fd(), until); }
  std::string err_until(std::string_view until) const { return read_until(err_.read.fd(), until); }
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

/// The bench server with these flags.
inline Words bench_server(const Words& flags) {
  Words words = {program()};
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

/// A server on a free port, which has said where it listens.
class Serving {
 public:
  explicit Serving(Words flags, const std::string& variable = "LEANTEA_HTTP_BACKEND=")
      : process_(bench_server(with_free_port(std::move(flags))), variable) {
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

  End connect() const {
    End fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.fd(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    return fd;
  }
  /// Sends bytes on a connection of their own, and returns all that comes until `until` or the end.
  std::string exchange(std::string_view bytes, std::string_view until = "") const {
    const End fd = connect();
    send_all(fd, bytes);
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

inline bool has(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

/// What a start that must fail says: one line, and nothing on standard output.
inline std::string complaint(const Words& flags,
                             const std::string& variable = "LEANTEA_HTTP_BACKEND=") {
  Process process(bench_server(flags), variable);
  EXPECT_EQ(process.rest_of_out(), "");
  std::string line = process.rest_of_err();
  EXPECT_EQ(process.wait(), 2);
  EXPECT_EQ(std::ranges::count(line, '\n'), 1) << line;
  EXPECT_TRUE(line.ends_with('\n')) << line;
  return line;
}

}  // namespace leantea::cli

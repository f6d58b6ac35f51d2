// How addresses become listening sockets: every form, and every mistake with what it tells the user.
#include "net/listener.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "net/socket.hpp"

namespace leantea::net {
namespace {

using Sets = std::vector<std::vector<Listener>>;

/// Opens, and fails the test when that does not work.
Sets open_all(const std::vector<std::string>& addresses, unsigned loops = 1,
              ListenOptions options = {}) {
  auto sets = open_listeners(addresses, loops, options);
  EXPECT_TRUE(sets.has_value()) << sets.error();
  return sets ? std::move(*sets) : Sets{};
}

Listener open_one(const std::string& address, ListenOptions options = {}) {
  Sets sets = open_all({address}, 1, options);
  EXPECT_TRUE(sets.size() == 1 && sets[0].size() == 1);
  return std::move(sets.at(0).at(0));
}

/// The message of an open that must fail.
std::string problem(const std::vector<std::string>& addresses, unsigned loops = 1) {
  auto sets = open_listeners(addresses, loops, {.reuse_port = loops > 1});
  EXPECT_FALSE(sets.has_value());
  return sets ? std::string{} : sets.error();
}

bool mentions(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

std::string local(std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); }

/// Connects by TCP over IPv4; a descriptor, or -1.
Fd connect_ipv4(std::uint16_t port) {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) fd.close();
  return fd;
}

Fd connect_ipv6(std::uint16_t port) {
  Fd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(port);
  to.sin6_addr = in6addr_loopback;
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) fd.close();
  return fd;
}

Fd connect_unix(const std::string& path) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, path.c_str(), sizeof to.sun_path - 1);
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) fd.close();
  return fd;
}

bool has_ipv6() {
  Fd fd(::socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 at{};
  at.sin6_family = AF_INET6;
  at.sin6_addr = in6addr_loopback;
  return fd && ::bind(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
}

/// Accepts one connection within a second.
Fd accept_soon(const Listener& listener) {
  pollfd ready{.fd = listener.fd(), .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, 1000) != 1) return Fd{};
  return Fd(accept_next(listener.fd(), listener.tcp_nodelay(), Blocking::kNo).fd);
}

/// A directory that is gone at the end of the test.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "leantea-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

/// Runs `body` in a child process; 0 when it returned true.
template <typename Body>
int in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

// ---- TCP ----

TEST(Listener, PortZeroTakesAFreePort) {
  const Listener listener = open_one("127.0.0.1:0");
  EXPECT_NE(listener.port(), 0);
  EXPECT_EQ(listener.address(), local(listener.port()));
  EXPECT_TRUE(listener.tcp());
  EXPECT_TRUE(connect_ipv4(listener.port()));
}

TEST(Listener, DoesNotBlockAndClosesOnExec) {
  const Listener listener = open_one("127.0.0.1:0");
  EXPECT_NE(fcntl(listener.fd(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(fcntl(listener.fd(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(accept_next(listener.fd(), true, Blocking::kNo).error, IoError::kWouldBlock);
}

TEST(Listener, PortZeroIsTheSameForEveryLoop) {
  const Sets sets = open_all({"127.0.0.1:0"}, 3, {.reuse_port = true});
  ASSERT_EQ(sets.size(), 3U);
  for (const auto& set : sets) {
    ASSERT_EQ(set.size(), 1U);
    EXPECT_EQ(set[0].port(), sets[0][0].port());
    EXPECT_FALSE(set[0].shared());
  }
  EXPECT_NE(sets[0][0].fd(), sets[1][0].fd());
}

TEST(Listener, EveryLoopGetsConnections) {
  const Sets sets = open_all({"127.0.0.1:0"}, 2, {.reuse_port = true});
  std::vector<Fd> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(connect_ipv4(sets[0][0].port()));
  for (const auto& set : sets) EXPECT_TRUE(accept_soon(set[0]));
}

TEST(Listener, WithoutReusePortTheLoopsShareOneSocket) {
  const Sets sets = open_all({"127.0.0.1:0"}, 2, {.reuse_port = false});
  const Fd client = connect_ipv4(sets[0][0].port());
  EXPECT_TRUE(sets[0][0].shared());
  EXPECT_TRUE(accept_soon(sets[1][0]));
}

TEST(Listener, SeveralAddressesAtOnce) {
  const Sets sets = open_all({"127.0.0.1:0", "127.0.0.2:0"}, 2, {.reuse_port = true});
  for (const auto& set : sets) {
    ASSERT_EQ(set.size(), 2U);
    EXPECT_TRUE(set[0].address().starts_with("127.0.0.1:"));
    EXPECT_TRUE(set[1].address().starts_with("127.0.0.2:"));
  }
}

TEST(Listener, Ipv6InBrackets) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 here";
  const Listener listener = open_one("[::1]:0");
  EXPECT_EQ(listener.address(), "[::1]:" + std::to_string(listener.port()));
  EXPECT_TRUE(connect_ipv6(listener.port()));
}

TEST(Listener, NoHostIsAllInterfacesAndBothFamilies) {
  const Listener listener = open_one(":0");
  EXPECT_TRUE(connect_ipv4(listener.port()));
  if (has_ipv6()) {
    EXPECT_TRUE(connect_ipv6(listener.port()));
  }
}

TEST(Listener, BracketsLeaveIpv4ToAnotherAddress) {
  if (!has_ipv6()) GTEST_SKIP() << "no IPv6 here";
  const Listener six = open_one("[::]:0");
  const Listener four = open_one("0.0.0.0:" + std::to_string(six.port()));
  EXPECT_EQ(four.port(), six.port());
}

TEST(Listener, ANameListensOnAllOfItsAddressesWithOnePort) {
  const Sets sets = open_all({"localhost:0"});
  ASSERT_EQ(sets.size(), 1U);
  ASSERT_FALSE(sets[0].empty());
  for (const Listener& listener : sets[0]) EXPECT_EQ(listener.port(), sets[0][0].port());
  EXPECT_TRUE(connect_ipv4(sets[0][0].port()));
  if (has_ipv6()) {
    EXPECT_TRUE(connect_ipv6(sets[0][0].port()));
  }
}

TEST(Listener, AcceptedSocketsInheritNoDelay) {
  for (const bool on : {true, false}) {
    const Listener listener = open_one("127.0.0.1:0", {.tcp_nodelay = on});
    const Fd client = connect_ipv4(listener.port());
    const Fd server = accept_soon(listener);
    int value = -1;
    socklen_t length = sizeof value;
    ASSERT_EQ(getsockopt(server.get(), IPPROTO_TCP, TCP_NODELAY, &value, &length), 0);
    EXPECT_EQ(value != 0, on);
  }
}

TEST(Listener, DeferAcceptWaitsForTheFirstByte) {
#ifndef __linux__
  GTEST_SKIP() << "TCP_DEFER_ACCEPT is Linux's";
#endif
  const Listener listener = open_one("127.0.0.1:0", {.defer_accept_seconds = 5});
  const Fd client = connect_ipv4(listener.port());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(accept_next(listener.fd(), true, Blocking::kNo).error, IoError::kWouldBlock);
  ASSERT_EQ(::send(client.get(), "x", 1, 0), 1);
  EXPECT_TRUE(accept_soon(listener));
}

TEST(Listener, ThePortIsFreeAgainAtOnce) {
  std::uint16_t port = 0;
  {
    const Listener listener = open_one("127.0.0.1:0");
    port = listener.port();
    Fd client = connect_ipv4(port);
    Fd server = accept_soon(listener);
    server.close();  // ours closes first: TIME_WAIT is on this side
    client.close();
  }
  EXPECT_EQ(open_one(local(port)).port(), port);
}

// ---- Mistakes ----

TEST(ListenerProblem, APortInUse) {
  const Listener first = open_one("127.0.0.1:0");
  const std::string port = std::to_string(first.port());
  const std::string text = problem({local(first.port())});
  EXPECT_TRUE(mentions(text, "port " + port +
                                 " is in use: choose another with --port, or stop "
                                 "the process that has it"))
      << text;
}

// SO_REUSEPORT would let a second server of the same user join the port without a word.
TEST(ListenerProblem, APortInUseByAServerWithSeveralLoops) {
  const Sets first = open_all({"127.0.0.1:0"}, 2, {.reuse_port = true});
  EXPECT_TRUE(mentions(problem({local(first[0][0].port())}, 2), "is in use"));
  EXPECT_TRUE(mentions(problem({local(first[0][0].port())}, 1), "is in use"));
}

TEST(ListenerProblem, APrivilegedPort) {
  constexpr uid_t kNobody = 65534;
  int first_free = 1024;
  std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first_free;
  if (first_free <= 1) GTEST_SKIP() << "here every port is free to everybody";
  EXPECT_EQ(in_child([] {
              if (geteuid() == 0 && setuid(kNobody) != 0) return false;
              return mentions(problem({"127.0.0.1:1"}),
                              "port 1 needs privileges: choose a port above 1023");
            }),
            0);
}

TEST(ListenerProblem, AnAddressOfAnotherMachine) {
  const std::string text = problem({"192.0.2.1:0"});
  EXPECT_TRUE(mentions(text, "192.0.2.1:0: this machine has no such address")) << text;
}

TEST(ListenerProblem, WhatIsNoAddress) {
  const struct {
    const char* address;
    const char* says;
  } cases[] = {
      {"", "write host:port"},
      {"8080", "write host:port"},
      {"localhost", "write host:port"},
      {"127.0.0.1:", "\"\" is not a port"},
      {"127.0.0.1:http", "\"http\" is not a port, which is a number from 0 to 65535"},
      {"127.0.0.1:65536", "\"65536\" is not a port"},
      {"127.0.0.1:-1", "\"-1\" is not a port"},
      {"127.0.0.1: 80", "\" 80\" is not a port"},
      {"::1:8080", "in brackets, as in [::1]:8080"},
      {"[::1:8080", "in brackets"},
      {"[::g]:8080", "\"::g\" is not an IPv6 address"},
      {"[127.0.0.1]:8080", "\"127.0.0.1\" is not an IPv6 address"},
      {"[fe80::1%nosuch0]:80", "no network interface \"nosuch0\""},
      {"unix:", "a path is missing"},
      {"unix:@", "a path is missing"},
  };
  for (const auto& each : cases) {
    const std::string text = problem({each.address});
    EXPECT_TRUE(mentions(text, each.says)) << each.address << " → " << text;
  }
}

TEST(ListenerProblem, NoAddressAtAll) { EXPECT_TRUE(mentions(problem({}), "at least one")); }

TEST(ListenerProblem, OneBadAddressOpensNone) {
  Listener probe = open_one("127.0.0.1:0");
  const std::uint16_t port = probe.port();
  probe.close();
  problem({local(port), "127.0.0.1:http"});
  EXPECT_FALSE(connect_ipv4(port));
}

// ---- Unix sockets ----

TEST(UnixListener, ListensAndTidiesUp) {
  const TemporaryDirectory directory;
  const std::string path = directory / "app.sock";
  {
    const Listener listener = open_one("unix:" + path);
    EXPECT_EQ(listener.address(), "unix:" + path);
    EXPECT_EQ(listener.port(), 0);
    EXPECT_FALSE(listener.tcp());
    const Fd client = connect_unix(path);
    EXPECT_TRUE(client);
    EXPECT_TRUE(accept_soon(listener));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(UnixListener, LoopsShareItAndTheLastOneRemovesTheFile) {
  const TemporaryDirectory directory;
  const std::string path = directory / "app.sock";
  Sets sets = open_all({"unix:" + path}, 2);
  EXPECT_TRUE(sets[0][0].shared());
  const Fd client = connect_unix(path);
  EXPECT_TRUE(accept_soon(sets[1][0]));
  sets[0][0].close();
  EXPECT_TRUE(std::filesystem::exists(path));
  sets[1][0].close();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(UnixListener, ReplacesAStaleFile) {
  const TemporaryDirectory directory;
  const std::string path = directory / "app.sock";
  {
    // What a server leaves behind that was killed.
    const Fd dead(::socket(AF_UNIX, SOCK_STREAM, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, path.c_str(), sizeof at.sun_path - 1);
    ASSERT_EQ(::bind(dead.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    ASSERT_EQ(::listen(dead.get(), 1), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  const Listener listener = open_one("unix:" + path);
  EXPECT_TRUE(connect_unix(path));
}

TEST(UnixListener, LeavesTheFileOfItsSuccessor) {
  const TemporaryDirectory directory;
  const std::string path = directory / "app.sock";
  Listener first = open_one("unix:" + path);
  first.stop_handshakes();  // the file is gone, the queue is still served
  const Listener second = open_one("unix:" + path);
  first.close();
  EXPECT_TRUE(connect_unix(path));
}

TEST(UnixListener, ALiveOneIsAnError) {
  const TemporaryDirectory directory;
  const std::string path = directory / "app.sock";
  const Listener first = open_one("unix:" + path);
  const std::string text = problem({"unix:" + path});
  EXPECT_TRUE(mentions(text, "another process is listening there: stop it")) << text;
  EXPECT_TRUE(connect_unix(path));
}

TEST(UnixListener, AFileThatIsNoSocketIsLeftAlone) {
  const TemporaryDirectory directory;
  const std::string path = directory / "notes.txt";
  std::ofstream(path) << "precious";
  const std::string text = problem({"unix:" + path});
  EXPECT_TRUE(mentions(text, "not a socket")) << text;
  EXPECT_EQ(std::filesystem::file_size(path), 8U);
}

TEST(UnixListener, ASocketOfAnotherKindIsLeftAlone) {
  const TemporaryDirectory directory;
  const std::string path = directory / "log.sock";
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  const int datagrams = ::socket(AF_UNIX, SOCK_DGRAM, 0);
  ASSERT_EQ(::bind(datagrams, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  const std::string text = problem({"unix:" + path});
  EXPECT_TRUE(mentions(text, "a socket of another kind")) << text;
  EXPECT_TRUE(std::filesystem::exists(path));
  ::close(datagrams);
}

TEST(UnixListener, AMissingDirectoryAndAPathTooLong) {
  EXPECT_TRUE(mentions(problem({"unix:/nowhere/at/all.sock"}), "there is no such directory"));
  EXPECT_TRUE(mentions(problem({"unix:/tmp/" + std::string(200, 'x')}), "the path is too long"));
}

TEST(UnixListener, AbstractName) {
#ifndef __linux__
  GTEST_SKIP() << "abstract names are Linux's";
#endif
  const std::string name = "unix:@leantea-test-" + std::to_string(getpid());
  const Listener listener = open_one(name);
  EXPECT_EQ(listener.address(), name);
  EXPECT_TRUE(mentions(problem({name}), "another process is listening there"));
}

// ---- Closing without losing anyone ----

// A client whose handshake is complete is served, one that comes later is not reset, and finds the port
// free or taken by a successor.
TEST(StopHandshakes, KeepsTheQueueAndTakesNobodyNew) {
#ifndef __linux__
  GTEST_SKIP() << "needs SO_ATTACH_FILTER";
#endif
  for (const char* address : {"127.0.0.1:0", ":0"}) {
    Listener listener = open_one(address);
    const std::uint16_t port = listener.port();
    const Fd early = connect_ipv4(port);
    ASSERT_TRUE(early);
    listener.stop_handshakes();

    Fd late(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(late.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), -1);
    EXPECT_EQ(errno, EINPROGRESS);

    const Fd server = accept_soon(listener);
    ASSERT_TRUE(server);
    EXPECT_EQ(accept_next(listener.fd(), true, Blocking::kNo).error, IoError::kWouldBlock);
    listener.close();

    // Data still flows in both directions on the connection that was accepted under the filter.
    char byte = 0;
    ASSERT_EQ(::send(early.get(), "a", 1, 0), 1);
    pollfd ready{.fd = server.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&ready, 1, 1000), 1);
    EXPECT_EQ(::recv(server.get(), &byte, 1, 0), 1);
    ASSERT_EQ(::send(server.get(), "b", 1, 0), 1);
    EXPECT_EQ(::recv(early.get(), &byte, 1, 0), 1);
    EXPECT_EQ(byte, 'b');

    // Its kernel tries again after a second; a successor that is there by then gets it.
    const Listener successor = open_one(local(port));
    ready = {.fd = late.get(), .events = POLLOUT, .revents = 0};
    ASSERT_EQ(::poll(&ready, 1, 3000), 1);
    EXPECT_TRUE(accept_soon(successor));
  }
}

// ---- Inherited sockets ----

/// Runs `body` in a child process with `socket` as descriptor 3 and the environment of a socket unit;
/// 0 when it returned true.
template <typename Body>
int in_unit(int socket, const char* pid, Body body) {
  return in_child([&] {
    dup2(socket, 3);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", pid != nullptr ? pid : std::to_string(getpid()).c_str(), 1);
    return body();
  });
}

TEST(InheritedListener, TakesTheSocketsOfLISTEN_FDS) {
  const Listener outside = open_one("127.0.0.1:0");
  const Fd client = connect_ipv4(outside.port());
  EXPECT_EQ(in_unit(outside.fd(), nullptr,
                    [&] {
                      auto sets = open_listeners({"systemd"}, 2, {.reuse_port = true});
                      if (!sets) return false;
                      const Listener& first = (*sets)[0][0];
                      return first.address() == outside.address() && first.inherited() &&
                             first.shared() && static_cast<bool>(accept_soon((*sets)[1][0]));
                    }),
            0);
}

// The socket lives on outside: what we do at our end must not change it.
TEST(InheritedListener, StopHandshakesLeavesItWorking) {
  const Listener outside = open_one("127.0.0.1:0");
  EXPECT_EQ(in_unit(outside.fd(), nullptr,
                    [] {
                      auto sets = open_listeners({"systemd"}, 1, {});
                      if (!sets) return false;
                      (*sets)[0][0].stop_handshakes();
                      (*sets)[0][0].close();
                      return true;
                    }),
            0);
  EXPECT_TRUE(connect_ipv4(outside.port()));
}

TEST(InheritedListener, CanBeTakenOncePerProcess) {
  const Listener outside = open_one("127.0.0.1:0");
  EXPECT_EQ(in_unit(outside.fd(), nullptr,
                    [] {
                      {
                        auto first = open_listeners({"systemd"}, 1, {});
                      }
                      auto second = open_listeners({"systemd"}, 1, {});
                      return !second && mentions(second.error(), "once per process");
                    }),
            0);
}

TEST(InheritedListener, NeedsTheEnvironment) {
  const Listener outside = open_one("127.0.0.1:0");
  const auto fails = [] {
    auto sets = open_listeners({"systemd"}, 1, {});
    return !sets && mentions(sets.error(), "start it from a .socket unit");
  };
  EXPECT_EQ(in_unit(outside.fd(), "1", fails), 0);  // meant for another process
  unsetenv("LISTEN_FDS");
  EXPECT_TRUE(fails());
}

TEST(InheritedListener, MustBeAListeningSocket) {
  const Fd plain(::socket(AF_INET, SOCK_STREAM, 0));
  EXPECT_EQ(in_unit(plain.get(), nullptr,
                    [] {
                      auto sets = open_listeners({"systemd"}, 1, {});
                      return !sets && mentions(sets.error(), "ListenStream=");
                    }),
            0);
}

}  // namespace
}  // namespace leantea::net

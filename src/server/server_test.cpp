// A server's life: how it starts, how it says that it cannot, and every way in which it ends.
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <future>
#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <leantea/server.hpp>

#include "net/listener.hpp"

namespace leantea {
namespace {

using namespace std::chrono_literals;

Router hello() {
  Router router;
  router.get("/", [](const Request&) { return Response::text("hello"); });
  return router;
}

ServerOptions quiet(std::string backend = "reactor") {
  return {.port = 0, .backend = std::move(backend), .log = [](std::string_view) {}};
}

/// A client of one connection.
class Client {
 public:
  explicit Client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }

  bool connected() const { return connected_; }
  void send(std::string_view bytes) const {
    EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  /// All bytes until there are none for a while, or until the end of the stream.
  std::string receive(std::string_view until) const {
    std::string all;
    char buffer[4096];
    pollfd readable{fd_.get(), POLLIN, 0};
    while (all.find(until) == std::string::npos || until.empty()) {
      if (::poll(&readable, 1, 10'000) != 1) return all + "(nothing more came)";
      const ssize_t got = ::recv(fd_.get(), buffer, sizeof buffer, 0);
      if (got < 0) return all + "(error)";
      if (got == 0) return all + "(end)";
      all.append(buffer, static_cast<std::size_t>(got));
    }
    return all;
  }
  std::string get(std::string_view path) const {
    send("GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n\r\n");
    return receive("hello");
  }

 private:
  net::Fd fd_;
  bool connected_ = false;
};

std::string start_error(Server server) {
  const auto started = server.start();
  return started ? "" : started.error();
}

bool within(std::chrono::milliseconds bound, std::chrono::steady_clock::time_point since) {
  return std::chrono::steady_clock::now() - since < bound;
}

// ---- Starting ----

TEST(Server, ServesOnAPortOfItsOwn) {
  Server server{hello(), quiet()};
  ASSERT_TRUE(server.start());
  EXPECT_NE(server.port(), 0);
  EXPECT_EQ(server.addresses(),
            std::vector<std::string>{"127.0.0.1:" + std::to_string(server.port())});
  EXPECT_EQ(server.backend(), "reactor");
  EXPECT_EQ(server.loops(), 1u);
  const Client client{server.port()};
  EXPECT_TRUE(client.get("/").starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_EQ(server.connections(), 1u);
}

TEST(Server, ServesOnSeveralLoops) {
  Server server{hello(), quiet("reactor:3")};
  ASSERT_TRUE(server.start());
  EXPECT_EQ(server.loops(), 3u);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Client{server.port()}.get("/").ends_with("hello"));
}

TEST(Server, SeveralRunInOneProcess) {
  Server first{hello(), quiet()};
  Server second{hello(), quiet()};
  ASSERT_TRUE(first.start());
  ASSERT_TRUE(second.start());
  EXPECT_NE(first.port(), second.port());
  first.stop();
  EXPECT_TRUE(Client{second.port()}.get("/").ends_with("hello"));
}

TEST(Server, TakesTheBackendFromTheEnvironment) {
  ::setenv("LEANTEA_HTTP_BACKEND", "reactor:2", 1);
  Server server{hello(), quiet("")};
  const auto started = server.start();
  ::unsetenv("LEANTEA_HTTP_BACKEND");
  ASSERT_TRUE(started);
  EXPECT_EQ(server.loops(), 2u);
}

TEST(Server, SaysWhereItListensBeforeRunReturns) {
  ServerOptions options = quiet();
  std::uint16_t port = 0;
  options.on_start = [&port](const Server& started) { port = started.port(); };
  Server server{hello(), std::move(options)};
  ASSERT_TRUE(server.start());
  EXPECT_EQ(port, server.port());
}

TEST(Server, IsMovable) {
  Server first{hello(), quiet()};
  ASSERT_TRUE(first.start());
  const std::uint16_t port = first.port();
  Server second{std::move(first)};
  EXPECT_EQ(second.port(), port);
  EXPECT_TRUE(Client{port}.get("/").ends_with("hello"));
  Server third{hello(), quiet()};
  ASSERT_TRUE(third.start());
  const std::uint16_t gone = third.port();
  third = std::move(second);
  EXPECT_EQ(third.port(), port);
  EXPECT_FALSE(Client{gone}.connected());
  EXPECT_TRUE(Client{port}.get("/").ends_with("hello"));
}

TEST(Backends, ListsTheDefaultFirst) {
  ASSERT_FALSE(backends().empty());
  EXPECT_EQ(backends().front(), "reactor");
}

// ---- What keeps it from starting ----

TEST(ServerStart, SaysWhatIsWrongWithRoutes) {
  Router router = hello();
  router.get("a", [](const Request&) { return Response{}; });
  router.get("/{", [](const Request&) { return Response{}; });
  EXPECT_EQ(start_error(Server{std::move(router), quiet()}),
            "the route GET \"a\" does not begin with '/': write \"/a\"; the route GET \"/{\" has a "
            "brace inside of the segment \"{\": a parameter is a whole segment, like /{name}");
}

TEST(ServerStart, SaysWhatIsWrongWithOptions) {
  ServerOptions options = quiet();
  options.threads = 0;
  EXPECT_EQ(start_error(Server{hello(), options}),
            "ServerOptions::threads is 0: use 1 to 1024 loops");
  options.threads = 1;
  options.limits.header_count = 0;
  EXPECT_NE(start_error(Server{hello(), options}).find("Limits::header_count"), std::string::npos);
}

TEST(ServerStart, SaysWhatIsWrongWithTheBackend) {
  EXPECT_NE(start_error(Server{hello(), quiet("fastest")}).find("choose one of"),
            std::string::npos);
  ::setenv("LEANTEA_HTTP_BACKEND", "fastest", 1);
  const std::string error = start_error(Server{hello(), quiet("")});
  ::unsetenv("LEANTEA_HTTP_BACKEND");
  EXPECT_TRUE(error.starts_with("LEANTEA_HTTP_BACKEND: there is no backend \"fastest\"")) << error;
}

TEST(ServerStart, SaysThatThePortIsTaken) {
  Server first{hello(), quiet()};
  ASSERT_TRUE(first.start());
  for (const char* backend : {"reactor", "reactor:2"}) {
    ServerOptions options = quiet(backend);
    options.port = first.port();
    const std::string error = start_error(Server{hello(), std::move(options)});
    EXPECT_NE(error.find(std::to_string(first.port())), std::string::npos) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

TEST(ServerStart, TheSamePortIsFreeAgainAtOnce) {
  std::uint16_t port = 0;
  for (int i = 0; i < 5; ++i) {
    ServerOptions options = quiet();
    options.port = port;
    Server server{hello(), std::move(options)};
    ASSERT_TRUE(server.start());
    port = server.port();
    EXPECT_TRUE(Client{port}.get("/").ends_with("hello"));
  }
}

// ---- Ending ----

TEST(ServerEnd, DrainingAndWaitingAreSafeAtAnyTime) {
  Server server{hello(), quiet()};
  server.wait();
  EXPECT_EQ(server.connections(), 0u);
  ASSERT_TRUE(server.start());
  server.drain();
  server.drain(0ms);
  server.wait();
  server.wait();
  server.stop();
  server.drain();
}

TEST(ServerEnd, ADrainBeforeTheStartIsNotLost) {
  Server server{hello(), quiet()};
  server.drain();
  ASSERT_TRUE(server.start());
  server.wait();
}

TEST(ServerEnd, ManyThreadsMayEndItAtOnce) {
  Server server{hello(), quiet("reactor:2")};
  ASSERT_TRUE(server.start());
  const Client idle{server.port()};
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&server, i] {
      if (i % 2 == 0) {
        server.stop();
      } else {
        server.drain();
        server.wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(server.connections(), 0u);
}

TEST(ServerEnd, AHandlerMayDrainItsServer) {
  std::optional<Server> server;
  Router router;
  router.post("/drain", [&server](const Request&) {
    server->drain();
    return Response::text("hello");
  });
  server.emplace(std::move(router), quiet());
  ASSERT_TRUE(server->start());
  const Client client{server->port()};
  client.send("POST /drain HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  // The loop drains at its next turn: this answer may still say that the connection goes on.
  const std::string answer = client.receive("");
  EXPECT_TRUE(answer.ends_with("hello(end)")) << answer;
  server->wait();
}

TEST(ServerEnd, RequestsInFlightAreAnswered) {
  std::latch begun(1);
  Router router;
  router.get("/slow", [&begun](Request&) -> Task<Response> {
    begun.count_down();
    co_await sleep(200ms);
    co_return Response::text("hello");
  });
  Server server{std::move(router), quiet()};
  ASSERT_TRUE(server.start());
  const Client client{server.port()};
  client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  begun.wait();
  server.drain();
  EXPECT_TRUE(client.receive("").ends_with("hello(end)"));
  server.wait();
}

/// A route that takes a minute, and a client that has asked for it.
struct Stuck {
  std::latch begun{1};
  std::optional<Server> server;
  std::optional<Client> client;

  explicit Stuck(ServerOptions options) {
    Router router;
    router.get("/minute", [this](Request&) -> Task<Response> {
      begun.count_down();
      co_await sleep(60s);
      co_return Response::text("hello");
    });
    server.emplace(std::move(router), std::move(options));
  }
  void ask(std::uint16_t port) {
    client.emplace(port);
    client->send("GET /minute HTTP/1.1\r\nHost: a\r\n\r\n");
    begun.wait();
  }
};

TEST(ServerEnd, TheDestructorStopsAtOnce) {
  Stuck stuck{quiet()};
  ASSERT_TRUE(stuck.server->start());
  stuck.ask(stuck.server->port());
  const auto before = std::chrono::steady_clock::now();
  stuck.server.reset();
  EXPECT_TRUE(within(5s, before));
}

TEST(ServerEnd, TheDeadlineOfADrainCutsTheRest) {
  Stuck stuck{quiet()};
  ASSERT_TRUE(stuck.server->start());
  stuck.ask(stuck.server->port());
  const auto before = std::chrono::steady_clock::now();
  stuck.server->drain(50ms);
  stuck.server->wait();
  EXPECT_TRUE(within(5s, before));
}

// ---- run() ----

/// run() on a thread of its own, and the port once it serves.
class Running {
 public:
  explicit Running(Server& server, std::future<std::uint16_t> port)
      : code_(std::async(std::launch::async, [&server] { return server.run(); })),
        port_(port.get()) {}
  std::uint16_t port() const { return port_; }
  bool ended_within(std::chrono::milliseconds bound) const {
    return code_.wait_for(bound) == std::future_status::ready;
  }
  int code() { return code_.get(); }

 private:
  std::future<int> code_;
  std::uint16_t port_;
};

ServerOptions telling(std::promise<std::uint16_t>& port) {
  ServerOptions options = quiet();
  options.on_start = [&port](const Server& server) { port.set_value(server.port()); };
  return options;
}

TEST(ServerRun, EndsByEitherSignalWithCodeZero) {
  for (const int signal : {SIGTERM, SIGINT}) {
    std::promise<std::uint16_t> port;
    Server server{hello(), telling(port)};
    Running running{server, port.get_future()};
    EXPECT_TRUE(Client{running.port()}.get("/").ends_with("hello"));
    ::kill(::getpid(), signal);
    EXPECT_EQ(running.code(), 0);
    EXPECT_FALSE(Client{running.port()}.connected());
  }
}

TEST(ServerRun, EndsByADrainOfAnotherThread) {
  std::promise<std::uint16_t> port;
  Server server{hello(), telling(port)};
  Running running{server, port.get_future()};
  EXPECT_FALSE(running.ended_within(50ms));
  server.drain();
  EXPECT_EQ(running.code(), 0);
}

TEST(ServerRun, ASecondSignalCutsAtOnce) {
  std::promise<std::uint16_t> port;
  Stuck stuck{telling(port)};
  Running running{*stuck.server, port.get_future()};
  stuck.ask(running.port());
  ::kill(::getpid(), SIGTERM);
  EXPECT_FALSE(running.ended_within(300ms));
  ::kill(::getpid(), SIGTERM);
  EXPECT_TRUE(running.ended_within(5s));
  EXPECT_EQ(running.code(), 0);
}

TEST(ServerRun, GoesOnWithAServerThatWasStarted) {
  Server server{hello(), quiet()};
  ASSERT_TRUE(server.start());
  server.drain();
  EXPECT_EQ(server.run(), 0);
}

TEST(ServerRun, OneSignalEndsAllServersThatRun) {
  std::promise<std::uint16_t> first_port;
  std::promise<std::uint16_t> second_port;
  Server first{hello(), telling(first_port)};
  Server second{hello(), telling(second_port)};
  Running first_running{first, first_port.get_future()};
  Running second_running{second, second_port.get_future()};
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(first_running.code(), 0);
  EXPECT_EQ(second_running.code(), 0);
}

TEST(ServerRun, SaysInOneLineWhyItCannotStart) {
  Server server{hello(), quiet("fastest")};
  testing::internal::CaptureStderr();
  EXPECT_EQ(server.run(), 2);
  const std::string line = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(line.starts_with("leantea: there is no backend \"fastest\"")) << line;
  EXPECT_EQ(line.find('\n'), line.size() - 1);
}

}  // namespace
}  // namespace leantea

// The reactor on real sockets: what is its own (interest, bounds, the listen queue, its loops). That
// all backends behave alike is the suite in tests/backends.
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <leantea/leantea.hpp>

#include "app/application.hpp"
#include "app/worker_pool.hpp"
#include "net/loop/loop_backend.hpp"
#include "net/reactor/poller.hpp"
#include "net/readiness/loop_impl.hpp"

namespace leantea::net {
namespace {

using namespace std::chrono_literals;

// ---- The client ----

/// A connection of a client, blocking, with a time limit on everything.
class Client {
 public:
  explicit Client(std::uint16_t port, int receive_buffer = 0) {
    fd_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (receive_buffer > 0) {
      setsockopt(fd_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    const timeval limit{.tv_sec = 5, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    // For connect(): nobody waits for a SYN's second try, which comes after a second.
    const timeval soon{.tv_sec = 0, .tv_usec = 200'000};
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
      fd_.close();
      return;
    }
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }

  bool connected() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }

  void send(std::string_view bytes) const {
    EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void end() const { ::shutdown(fd_.get(), SHUT_WR); }
  void reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
    fd_.close();
  }

  /// Bytes up to the end of the stream, or what came until the time limit.
  std::string read_to_end() const {
    std::string all;
    std::vector<char> buffer(64 * 1024);
    for (ssize_t n = 0; (n = ::recv(fd_.get(), buffer.data(), buffer.size(), 0)) > 0;) {
      all.append(buffer.data(), static_cast<std::size_t>(n));
    }
    return all;
  }
  /// Bytes until `ending` has come `times` times.
  std::string read_until(std::string_view ending, int times = 1) const {
    std::string all;
    std::size_t from = 0;
    char byte = 0;
    while (times > 0 && ::recv(fd_.get(), &byte, 1, 0) == 1) {
      all.push_back(byte);
      if (all.find(ending, from) == std::string::npos) continue;
      from = all.size();
      --times;
    }
    return all;
  }
  /// One answer: head and content. What came of it when the connection broke off.
  std::string read_answer() const {
    constexpr std::string_view kLength = "Content-Length: ";
    std::string answer = read_until("\r\n\r\n");
    const std::size_t at = answer.find(kLength);
    if (at == std::string::npos) return answer;
    std::string content(std::stoul(answer.substr(at + kLength.size())), '\0');
    const ssize_t got = ::recv(fd_.get(), content.data(), content.size(), MSG_WAITALL);
    return answer.append(content, 0, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }
  /// Sends a request and reads its answer; empty when the connection is gone.
  std::string ask(std::string_view target = "/") const {
    const std::string request = "GET " + std::string(target) + " HTTP/1.1\r\nHost: a\r\n\r\n";
    if (::send(fd_.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) return {};
    return read_answer();
  }
  /// True when nothing comes for a while.
  bool silent(std::chrono::milliseconds time = 100ms) const {
    pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&ready, 1, static_cast<int>(time.count())) == 0;
  }

 private:
  Fd fd_;
};

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kGetAndClose = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

bool holds(std::string_view text, std::string_view what) {
  return text.find(what) != std::string_view::npos;
}

// ---- The server ----

std::string thread_name() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  return name;
}

/// What handlers of these tests tell the test.
struct Seen {
  std::atomic<int> stopped{0};
  std::atomic<int> waiting{0};
};

constexpr std::size_t kLarge = 8 * 1024 * 1024;

Router routes(Seen& seen) {
  Router router;
  router.get("/", [](const Request&) { return Response::text("OK"); });
  router.get("/loop", [](const Request&) { return Response::text(thread_name() + " OK"); });
  router.get("/peer", [](const Request& r) { return Response::text(r.peer() + " OK"); });
  router.get("/large", [](const Request&) { return Response::text(std::string(kLarge, 'x')); });
  router.get("/offload", [](Request&) -> Task<Response> {
    co_return Response::text(co_await offload([] { return std::string("from a worker OK"); }));
  });
  router.get("/sleep", [&seen](Request& r) -> Task<Response> {
    ++seen.waiting;
    co_await sleep(10s);
    if (r.stop_token().stop_requested()) ++seen.stopped;
    co_return Response::text("OK");
  });
  // Never asks for its content, so that the connection stops reading.
  router.post("/deaf", [&seen](Request& r) -> Task<Response> {
    ++seen.waiting;
    co_await sleep(10s);
    if (r.stop_token().stop_requested()) ++seen.stopped;
    co_return Response::text("OK");
  });
  router.post("/echo", [](Request& r) { return Response::bytes(r.body()); });
  return router;
}

/// A running reactor, with all it needs. Ends, gracefully, with the test.
class Running {
 public:
  explicit Running(unsigned loops = 1, Limits limits = {})
      : limits_(limits),
        application_(routes(seen), [this](std::string_view line) { log_line(line); }),
        reactor_("reactor", &make_loop<readiness::Loop<readiness::SystemPoller>>, shared_,
                 {.loops = loops}) {
    auto listeners = open_listeners({"127.0.0.1:0"}, loops, {.reuse_port = loops > 1});
    port_ = listeners->at(0).at(0).port();
    const auto started = reactor_.start(std::move(*listeners));
    EXPECT_TRUE(started.has_value()) << started.error();
  }
  ~Running() { stop(); }

  std::uint16_t port() const { return port_; }
  void drain(std::chrono::milliseconds deadline) { reactor_.drain(deadline); }
  void join() { reactor_.join(); }
  void stop() {
    drain(0ms);
    join();
  }
  std::uint32_t connections() const { return shared_.connections.load(); }
  int log_lines() const { return log_lines_.load(); }

  Seen seen;

 private:
  void log_line(std::string_view) { ++log_lines_; }

  const Limits limits_;
  std::atomic<int> log_lines_{0};
  app::Application application_;
  app::WorkerPool workers_{2};
  app::ServerShared shared_{application_, limits_, workers_};
  LoopBackend reactor_;
  std::uint16_t port_ = 0;
};

/// Waits, at most some seconds, until `condition` holds.
template <typename Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 500; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(10ms);
  }
  return condition();
}

/// Processor time of this process, for finding out whether something spins.
std::chrono::milliseconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::duration_cast<std::chrono::milliseconds>(
                                                 std::chrono::nanoseconds(time.tv_nsec));
}

/// True when the process falls asleep: for 300 ms, near enough, within some seconds. One that spins never does.
bool at_rest() {
  for (int i = 0; i < 20; ++i) {
    const auto before = processor_time();
    std::this_thread::sleep_for(300ms);
    if (processor_time() - before < 30ms) return true;
  }
  return false;
}

// ---- Tests ----

TEST(Reactor, ServesRequestsOnOneConnection) {
  const Running server;
  const Client client(server.port());
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(holds(client.ask(), "200 OK"));
}

TEST(Reactor, AnswersPipelinedRequestsInOrder) {
  const Running server;
  const Client client(server.port());
  std::string batch;
  for (int i = 0; i < 16; ++i) batch += kGet;
  client.send(batch);
  EXPECT_TRUE(holds(client.read_until("\r\n\r\nOK", 16), "200 OK"));
  EXPECT_TRUE(client.silent());
}

TEST(Reactor, ClosesWhenTheClientAsksForIt) {
  const Running server;
  for (int i = 0; i < 50; ++i) {
    const Client client(server.port());
    client.send(kGetAndClose);
    EXPECT_TRUE(client.read_to_end().ends_with("OK"));
  }
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
}

TEST(Reactor, ARequestInSmallPieces) {
  const Running server;
  const Client client(server.port());
  for (const char byte : kGet) {
    client.send({&byte, 1});
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_TRUE(holds(client.read_answer(), "200 OK"));
}

TEST(Reactor, SendsWhatASlowClientTakesAndWaitsInBetween) {
  const Running server;
  const Client client(server.port(), /*receive_buffer=*/16 * 1024);
  client.send("GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  std::this_thread::sleep_for(100ms);
  EXPECT_TRUE(at_rest());
  const std::string answer = client.read_to_end();
  EXPECT_GT(answer.size(), kLarge);
  EXPECT_EQ(answer.find_last_not_of('x'), answer.find("\r\n\r\n") + 3);
}

TEST(Reactor, GoesOnReadingWhenASlowClientHasTakenItsAnswers) {
  const Running server;
  const Client client(server.port(), /*receive_buffer=*/16 * 1024);
  for (int i = 0; i < 3; ++i) client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
  client.send(kGetAndClose);
  EXPECT_GT(client.read_to_end().size(), 3 * kLarge);
}

TEST(Reactor, ReceivesALargeBody) {
  Limits limits;
  limits.body_bytes = 2 * kLarge;
  const Running server(1, limits);
  const Client client(server.port());
  const std::string body(kLarge, 'y');
  std::thread sender([&] {
    client.send("POST /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
  });
  const std::string answer = client.read_to_end();
  sender.join();
  EXPECT_TRUE(answer.ends_with(body));
}

TEST(Reactor, KnowsTheClientsAddress) {
  const Running server;
  const Client client(server.port());
  sockaddr_in at{};
  socklen_t length = sizeof at;
  getsockname(client.fd(), reinterpret_cast<sockaddr*>(&at), &length);
  EXPECT_TRUE(
      holds(client.ask("/peer"), "127.0.0.1:" + std::to_string(ntohs(at.sin_port)) + " OK"));
}

TEST(Reactor, IsWokenByWorkers) {
  const Running server;
  const Client client(server.port());
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(holds(client.ask("/offload"), "from a worker"));
  EXPECT_TRUE(at_rest());
}

TEST(Reactor, AHalfClosedClientGetsItsAnswer) {
  const Running server;
  const Client client(server.port());
  client.send(kGet);
  client.end();
  EXPECT_TRUE(client.read_to_end().ends_with("OK"));
}

TEST(Reactor, AClientThatLeavesWhileItsHandlerWaitsIsNoticed) {
  Running server;
  Client client(server.port());
  client.send("GET /sleep HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return server.seen.waiting == 1; }));
  client.reset();
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
  EXPECT_TRUE(at_rest());
}

// With back-pressure on, the socket is not read, so the end of the stream hides behind unread bytes.
TEST(Reactor, AnEndBehindUnreadBytesIsNoticedAndDoesNotSpin) {
  Running server;
  Client client(server.port());
  client.send("POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n");
  // More than the connection buffers, and few enough that the kernel takes all, and the end with it.
  client.send(std::string(84'000, 'z'));
  ASSERT_TRUE(eventually([&] { return server.seen.waiting == 1; }));
  EXPECT_TRUE(at_rest());
  client.end();
  EXPECT_TRUE(eventually([&] { return server.seen.stopped == 1; }));
  EXPECT_TRUE(at_rest());
}

TEST(Reactor, AResetBehindUnreadBytesIsNoticed) {
  Running server;
  Client client(server.port());
  client.send("POST /deaf HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n");
  client.send(std::string(400'000, 'z'));
  ASSERT_TRUE(eventually([&] { return server.seen.waiting == 1; }));
  client.reset();
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
  EXPECT_TRUE(at_rest());
}

TEST(Reactor, ClientsThatVanishLeaveNothingBehind) {
  const Running server;
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 20; ++i) {
      clients.push_back(std::make_unique<Client>(server.port()));
      if (i % 2 == 0) clients.back()->send(kGet);
      if (i % 3 == 0) clients.back()->send("GET / HT");
    }
    for (std::size_t i = 0; i < clients.size(); i += 2) clients[i]->reset();
  }
  EXPECT_TRUE(eventually([&] { return server.connections() == 0; }));
  EXPECT_TRUE(holds(Client(server.port()).ask(), "200 OK"));
}

// ---- No room ----

TEST(ReactorLimits, AboveTheLimitNewConnectionsWaitInTheQueue) {
  Limits limits;
  limits.connections = 2;
  const Running server(1, limits);
  auto first = std::make_unique<Client>(server.port());
  const Client second(server.port());
  EXPECT_TRUE(holds(first->ask(), "200 OK"));
  EXPECT_TRUE(holds(second.ask(), "200 OK"));
  const Client third(server.port());
  third.send(kGet);
  EXPECT_TRUE(third.silent(200ms));
  EXPECT_TRUE(at_rest());
  EXPECT_TRUE(holds(second.ask(), "200 OK"));
  first.reset();
  EXPECT_TRUE(holds(third.read_answer(), "200 OK"));
  EXPECT_EQ(server.log_lines(), 1);
}

TEST(ReactorLimits, OrAreTurnedAwayWithAnAnswer) {
  Limits limits;
  limits.connections = 1;
  limits.refuse_above_connections = true;
  const Running server(1, limits);
  const Client first(server.port());
  EXPECT_TRUE(holds(first.ask(), "200 OK"));
  for (int i = 0; i < 200; ++i) {
    const Client other(server.port());
    other.send(kGet);
    EXPECT_TRUE(other.read_to_end().starts_with("HTTP/1.1 503 "));
  }
  EXPECT_TRUE(holds(first.ask(), "200 OK"));
}

/// Leaves the process no more than `spare` further descriptors while it lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(int spare) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const Fd next(::dup(0));
    const rlimit few{.rlim_cur = static_cast<rlim_t>(next.get() + spare),
                     .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST(ReactorLimits, OutOfDescriptorsItPausesAndRecovers) {
  const Running server;
  auto first = std::make_unique<Client>(server.port());
  EXPECT_TRUE(holds(first->ask(), "200 OK"));
  std::unique_ptr<Client> second;
  {
    const FewDescriptors few(1);
    second = std::make_unique<Client>(server.port());  // takes the last one
    ASSERT_TRUE(second->connected());
    second->send(kGet);
    EXPECT_TRUE(second->silent(200ms));
    EXPECT_TRUE(at_rest());
    EXPECT_TRUE(holds(first->ask(), "200 OK"));
    EXPECT_EQ(server.log_lines(), 1);
    // Both ends of it are ours: the second gets one of the two descriptors.
    first.reset();
    EXPECT_TRUE(holds(second->read_answer(), "200 OK"));
  }
  EXPECT_TRUE(holds(Client(server.port()).ask(), "200 OK"));
  EXPECT_EQ(server.log_lines(), 1);
}

// ---- The end ----

TEST(ReactorDrain, IdleConnectionsAreClosedAndTheLoopEnds) {
  Running server;
  const Client idle(server.port());
  EXPECT_TRUE(holds(idle.ask(), "200 OK"));
  const auto before = std::chrono::steady_clock::now();
  server.drain(10s);
  server.join();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 2s);
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_FALSE(Client(server.port()).connected());
}

// Clients that keep coming while the listeners close: who got a connection gets an answer.
TEST(ReactorDrain, NobodyInTheQueueIsLost) {
  constexpr int kBurst = 32;
  std::atomic<int> lost{0};
  std::atomic<int> served{0};
  const auto come_in_bursts = [&](std::uint16_t port) {
    for (bool listening = true; listening;) {
      std::vector<std::unique_ptr<Client>> clients;
      for (int i = 0; i < kBurst && listening; ++i) {
        auto client = std::make_unique<Client>(port);
        listening = client->connected();
        if (listening) clients.push_back(std::move(client));
      }
      for (const auto& client : clients) client->send(kGetAndClose);
      for (const auto& client : clients) {
        (client->read_to_end().ends_with("OK") ? served : lost) += 1;
      }
    }
  };
  for (int round = 0; round < 10; ++round) {
    Running server(2);
    std::vector<std::thread> clients;
    for (int i = 0; i < 3; ++i) clients.emplace_back(come_in_bursts, server.port());
    std::this_thread::sleep_for(20ms);
    server.drain(5s);
    server.join();
    for (std::thread& client : clients) client.join();
  }
  EXPECT_GT(served, 0);
  EXPECT_EQ(lost, 0);
}

TEST(ReactorDrain, ADeadlineEndsWhatIsLeft) {
  Running server;
  const Client client(server.port());
  client.send("GET /sleep HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return server.seen.waiting == 1; }));
  const auto before = std::chrono::steady_clock::now();
  server.drain(10s);
  std::this_thread::sleep_for(50ms);
  server.drain(100ms);  // brings it forward
  server.join();
  EXPECT_LT(std::chrono::steady_clock::now() - before, 3s);
  EXPECT_EQ(server.connections(), 0U);
}

TEST(ReactorDrain, ThePortIsFreeAtOnce) {
  std::uint16_t port = 0;
  {
    Running server(2);
    port = server.port();
    EXPECT_TRUE(holds(Client(port).ask(), "200 OK"));
  }
  auto again = open_listeners({"127.0.0.1:" + std::to_string(port)}, 2, {.reuse_port = true});
  EXPECT_TRUE(again.has_value()) << again.error();
}

// ---- Several loops ----

/// Connections per loop, by the loops' thread names.
std::map<std::string, int> spread(std::uint16_t port, int count) {
  std::vector<std::unique_ptr<Client>> clients;
  std::map<std::string, int> loops;
  for (int i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<Client>(port));
    const std::string answer = clients.back()->ask("/loop");
    EXPECT_TRUE(answer.ends_with("OK"));
    ++loops[answer.substr(answer.find("\r\n\r\n") + 4)];
  }
  return loops;
}

TEST(ReactorLoops, ConnectionsAreSpreadEvenly) {
  const Running server(2);
  const auto loops = spread(server.port(), 128);
  ASSERT_EQ(loops.size(), 2U);
  for (const auto& [name, count] : loops) EXPECT_NEAR(count, 64, 6) << name;
}

TEST(ReactorLoops, EndTogetherUnderLoad) {
  for (int round = 0; round < 10; ++round) {
    Running server(3);
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
      clients.emplace_back([&] {
        for (;;) {
          const Client client(server.port());
          if (!client.connected()) return;
          for (int n = 0; n < 3; ++n) {
            if (!client.ask("/offload").ends_with("OK")) break;
          }
        }
      });
    }
    std::this_thread::sleep_for(30ms);
    server.drain(50ms);
    server.join();
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(server.connections(), 0U);
  }
}

}  // namespace
}  // namespace leantea::net

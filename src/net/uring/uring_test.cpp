// What is particular to io_uring: when it is not to be had, rings and receive buffers that are too small, and
// operations that are under way when a connection ends. What all backends do alike is tested in
// tests/backends/.
#include "net/uring/uring.hpp"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <leantea/leantea.hpp>

#include "app/application.hpp"
#include "app/worker_pool.hpp"
#include "net/clock.hpp"
#include "net/uring/loop.hpp"

namespace leantea::net::uring {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// ---- A loop of any size, and its clients ----

constexpr auto kPatience = 20s;  // for answers, on a machine that is busy

Router plain_router() {
  Router router;
  router.get("/health", [](const Request&) { return Response::text("OK"); });
  router.post("/echo", [](const Request& r) { return Response::bytes(r.body()); });
  router.get("/large", [](const Request&) { return Response::text(std::string(4'000'000, 'x')); });
  router.post("/slow", [](Request& r) -> Task<Response> {
    std::uint64_t sum = 0;
    while (auto chunk = co_await r.next_chunk()) {
      for (const char byte : *chunk) sum = sum * 31 + static_cast<unsigned char>(byte);
      co_await sleep(1ms);
    }
    co_return Response::text(std::to_string(sum));
  });
  return router;
}

/// One loop on a thread of its own, for as long as the object lives.
class Served {
 public:
  explicit Served(const RingSizes& sizes, Limits limits = {})
      : limits_(limits), application_(plain_router(), [](std::string_view) {}), workers_(1) {
    group_.loops.push_back(std::make_unique<Loop>(shared_, group_, sizes));
    auto listeners = open_listeners({"127.0.0.1:0"}, 1, {});
    EXPECT_TRUE(listeners.has_value());
    port_ = listeners->at(0).at(0).port();
    EXPECT_TRUE(loop().open(std::move(listeners->at(0))).has_value());
    thread_ = std::thread([this] {
      const auto begun = loop().begin();
      EXPECT_TRUE(begun.has_value()) << begun.error();
      if (begun) loop().run();
    });
  }
  ~Served() { end(0ms); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  void end(milliseconds deadline) {
    loop().drain(Clock::monotonic_ms() + deadline.count());
    if (thread_.joinable()) thread_.join();
  }
  std::uint16_t port() const { return port_; }
  std::uint32_t connections() const { return shared_.connections.load(); }
  bool comes_to(std::uint32_t connections) const {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (this->connections() != connections) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }

 private:
  EventLoop& loop() { return *group_.loops.front(); }

  Limits limits_;
  app::Application application_;
  app::WorkerPool workers_;
  app::ServerShared shared_{application_, limits_, workers_};
  EventLoop::Group group_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

/// A client that blocks, but not for ever.
class Client {
 public:
  explicit Client(const Served& server) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{.tv_sec = kPatience / 1s, .tv_usec = 0};
    setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server.port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void end() { ::shutdown(fd_.get(), SHUT_WR); }
  void reset() { close_socket(fd_.release(), /*reset=*/true); }

  /// Some bytes, none at the end or when nothing comes.
  std::string receive() {
    std::string bytes(64 * 1024, '\0');
    const ssize_t got = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  /// The content of the next answer; "?" when none comes.
  std::string answer() {
    constexpr std::string_view kLength = "Content-Length: ";
    while (true) {
      const std::size_t end = input_.find("\r\n\r\n");
      const std::size_t length = input_.find(kLength);
      if (end != std::string::npos && length < end) {
        const std::size_t size = std::stoul(input_.substr(length + kLength.size()));
        if (input_.size() >= end + 4 + size) {
          std::string content = input_.substr(end + 4, size);
          input_.erase(0, end + 4 + size);
          return content;
        }
      }
      const std::string more = receive();
      if (more.empty()) return "?";
      input_ += more;
    }
  }
  std::string until_end() {
    for (std::string more = receive(); !more.empty(); more = receive()) input_ += more;
    return std::exchange(input_, {});
  }

 private:
  Fd fd_;
  std::string input_;
};

std::string get(std::string_view path, std::string_view fields = "") {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

std::string post(std::string_view path, std::string_view content) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(content.size()) + "\r\n\r\n" +
         std::string(content);
}

/// Bytes that show when one is missing, doubled or in the wrong place.
std::string varied_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525 + 1013904223;
    byte = static_cast<char>(state >> 24);
  }
  return bytes;
}

std::string checksum(std::string_view bytes) {
  std::uint64_t sum = 0;
  for (const char byte : bytes) sum = sum * 31 + static_cast<unsigned char>(byte);
  return std::to_string(sum);
}

/// Both with receives that share buffers and, as on kernels before 6.12, without.
class UringLoop : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (const auto works = uring_available(); !works) GTEST_SKIP() << works.error();
  }
  static RingSizes usual() {
    RingSizes sizes;
    sizes.may_share = GetParam();
    return sizes;
  }
  static RingSizes tiny() {
    return {.submissions = 2,
            .completions = 4,
            .shared = {.bytes = 512, .count = 2},
            .whole = {.bytes = 512, .count = 2},
            .may_share = GetParam()};
  }
};

INSTANTIATE_TEST_SUITE_P(Buffers, UringLoop, testing::Bool(),
                         [](const auto& test) { return test.param ? "Shared" : "Whole"; });

// ---- Where there is none ----

/// What `body` returns on a thread that gets `code` from io_uring_setup(2); nothing where threads cannot be
/// forbidden anything.
template <typename Body>
std::optional<std::string> where_setup_fails(int code, Body body) {
  std::optional<std::string> result;
  std::thread([&] {
    std::array<sock_filter, 4> program{{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(code)),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    const sock_fprog filter{.len = program.size(), .filter = program.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) {
      result = body();
    }
  }).join();
  return result;
}

std::optional<std::string> problem_when_setup_fails(int code) {
  return where_setup_fails(code, [] {
    const auto works = uring_available();
    return works ? std::string("none") : works.error();
  });
}

TEST(UringAvailable, NamesTheReasonInOneLine) {
  if (!problem_when_setup_fails(EPERM)) GTEST_SKIP() << "this system has no seccomp filters";
  EXPECT_EQ(problem_when_setup_fails(EPERM),
            "io_uring is forbidden to this process (a seccomp profile, or sysctl "
            "kernel.io_uring_disabled)");
  EXPECT_EQ(problem_when_setup_fails(ENOSYS), "this kernel has no io_uring");
  EXPECT_EQ(problem_when_setup_fails(EINVAL),
            "this kernel's io_uring is too old: it takes Linux 6.1 or newer");
  EXPECT_EQ(problem_when_setup_fails(ENOMEM), "no memory for io_uring (ulimit -l)");
  EXPECT_EQ(problem_when_setup_fails(EMFILE), "cannot make an io_uring: Too many open files");
}

/// What making the backend `name` logs, and then its name or why there is none, each on a line.
std::string made_as(std::string_view name) {
  std::string said;
  const Limits limits;
  const app::Application application(plain_router(),
                                     [&](std::string_view line) { said.append(line) += '\n'; });
  app::WorkerPool workers{1};
  app::ServerShared shared{application, limits, workers};
  const auto backend = make_backend(name, shared, {.loops = 1});
  return said + (backend ? std::string((*backend)->name()) : backend.error());
}

TEST(UringAvailable, WhereItIsForbiddenAutoTakesTheReactorAndSaysSoInOneLine) {
  const auto said = where_setup_fails(EPERM, [] { return made_as("auto"); });
  if (!said) GTEST_SKIP() << "this system has no seccomp filters";
  EXPECT_EQ(*said,
            "the backend \"auto\" takes \"reactor\": io_uring is forbidden to this process (a "
            "seccomp profile, or sysctl kernel.io_uring_disabled)\nreactor");
}

TEST(UringAvailable, WhereItIsForbiddenItIsAnErrorThatNamesTheWayOut) {
  const auto said = where_setup_fails(EPERM, [] { return made_as("uring"); });
  if (!said) GTEST_SKIP() << "this system has no seccomp filters";
  EXPECT_EQ(*said,
            "the backend \"uring\" does not work here: io_uring is forbidden to this process (a "
            "seccomp profile, or sysctl kernel.io_uring_disabled): choose another, or \"auto\"");
}

// ---- Too small ----

TEST_P(UringLoop, ServesManyWithTheTiniestRing) {
  const Served server(tiny());
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 100; ++i) clients.push_back(std::make_unique<Client>(server));
  for (int round = 0; round < 3; ++round) {
    // All at once: more operations, completions and bytes than there is room for.
    for (const auto& client : clients) client->send(get("/health"));
    for (const auto& client : clients) EXPECT_EQ(client->answer(), "OK");
  }
}

TEST_P(UringLoop, TakesContentThroughTheTiniestBuffers) {
  const Served server(tiny());
  const std::string content = varied_bytes(300'000);
  Client one(server);
  Client other(server);
  one.send(post("/echo", content));
  other.send(post("/echo", content));
  EXPECT_EQ(one.answer(), content);
  EXPECT_EQ(other.answer(), content);
}

TEST_P(UringLoop, IsNotStarvedByOneWhoTakesAllBuffers) {
  Limits limits;
  limits.body_bytes = UINT64_MAX;
  const Served server(tiny(), limits);
  std::atomic<bool> stop{false};
  Client greedy(server);
  std::thread sender([&] {
    greedy.send("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    // Extensions carry nothing, so the server never has enough.
    const std::string chunk = "10;a=" + std::string(900, 'b') + "\r\n0123456789abcdef\r\n";
    while (!stop) greedy.send(chunk);
    greedy.end();
  });
  Client modest(server);
  for (int i = 0; i < 50; ++i) {
    modest.send(get("/health"));
    EXPECT_EQ(modest.answer(), "OK");
  }
  stop = true;
  sender.join();
}

TEST_P(UringLoop, WaitsWithoutATurnWhenNothingHappens) {
  const Served server(tiny());
  Client client(server);
  client.send(get("/health"));
  EXPECT_EQ(client.answer(), "OK");
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_SELF, &before);
  std::this_thread::sleep_for(300ms);
  getrusage(RUSAGE_SELF, &after);
  // Both threads of this process slept, but for a timer of the wheel now and then.
  EXPECT_LE(after.ru_nvcsw - before.ru_nvcsw, 20);
}

// ---- Back-pressure ----

TEST_P(UringLoop, HoldsInputUntilItIsWanted) {
  Limits limits;
  limits.body_buffer_bytes = 1024;
  limits.body_bytes = 4'000'000;
  const Served server(usual(), limits);
  const std::string content = varied_bytes(2'000'000);
  Client client(server);
  client.send(post("/slow", content));
  client.send(get("/health"));
  client.end();
  EXPECT_EQ(client.answer(), checksum(content));
  EXPECT_EQ(client.answer(), "OK");
  EXPECT_EQ(client.receive(), "");
}

TEST_P(UringLoop, HoldsInputOfManyPipelinedRequests) {
  const Served server(usual());
  Client client(server);
  std::string requests;
  for (int i = 0; i < 3000; ++i) requests += post("/slow", std::to_string(i));
  std::thread sender([&] { client.send(requests); });
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(client.answer(), checksum(std::to_string(i)));
  }
  sender.join();
}

TEST_P(UringLoop, SendsMoreThanTheSocketHasRoomFor) {
  const Served server(usual());
  Client client(server);
  for (int i = 0; i < 4; ++i) client.send(get("/large"));
  std::this_thread::sleep_for(50ms);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(client.answer().size(), 4'000'000U);
}

// ---- The end of a connection with operations under way ----

TEST_P(UringLoop, EndsReceivesThatAreUnderWay) {
  const Served server(usual());
  for (int i = 0; i < 200; ++i) {
    Client client(server);
    client.send(get("/health", "Connection: close\r\n"));
    const std::string answer = client.until_end();
    EXPECT_TRUE(answer.ends_with("OK")) << answer;
  }
  EXPECT_TRUE(server.comes_to(0));
}

TEST_P(UringLoop, GivesUpOnAClientThatDoesNotRead) {
  Limits limits;
  limits.write_timeout = 100ms;
  const Served server(usual(), limits);
  Client client(server);
  // Enough to fill the socket and to have a receive, a send and a wait for room under way.
  for (int i = 0; i < 40; ++i) client.send(get("/large"));
  EXPECT_TRUE(server.comes_to(1));
  EXPECT_TRUE(server.comes_to(0));
}

TEST_P(UringLoop, SurvivesClientsThatVanish) {
  Limits limits;
  limits.body_buffer_bytes = 1024;
  const Served server(usual(), limits);
  for (int i = 0; i < 60; ++i) {
    Client client(server);
    if (i % 4 == 0) client.send(get("/large"));
    if (i % 4 == 1) client.send(post("/slow", varied_bytes(500'000)));
    if (i % 4 == 2) client.send(get("/health").substr(0, 20));
    if (i % 2 == 0) client.end();
    if (i % 3 == 0) client.reset();
  }
  EXPECT_TRUE(server.comes_to(0));
  Client client(server);
  client.send(get("/health"));
  EXPECT_EQ(client.answer(), "OK");
}

TEST_P(UringLoop, EndsWithConnectionsInEveryState) {
  std::vector<std::unique_ptr<Client>> clients;
  Limits limits;
  limits.body_buffer_bytes = 1024;
  Served server(usual(), limits);
  for (int i = 0; i < 40; ++i) {
    clients.push_back(std::make_unique<Client>(server));
    Client& client = *clients.back();
    if (i % 4 == 0) client.send(get("/large") + get("/large"));
    if (i % 4 == 1) client.send(post("/slow", varied_bytes(200'000)));
    if (i % 4 == 2) client.send(get("/health"));
  }
  EXPECT_TRUE(server.comes_to(40));
  server.end(10ms);
  EXPECT_EQ(server.connections(), 0U);
}

TEST_P(UringLoop, AcceptsAllWhoCameBeforeTheDrain) {
  Served server(usual());
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 50; ++i) {
    clients.push_back(std::make_unique<Client>(server));
    clients.back()->send(get("/health"));
  }
  server.end(5s);
  for (const auto& client : clients) EXPECT_EQ(client->answer(), "OK");
}

// ---- Places ----

TEST_P(UringLoop, KeepsClientsWaitingWhoHaveNoPlace) {
  Limits limits;
  limits.connections = 2;
  const Served server(usual(), limits);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 6; ++i) {
    clients.push_back(std::make_unique<Client>(server));
    clients.back()->send(get("/health"));
  }
  for (auto& client : clients) {
    EXPECT_EQ(client->answer(), "OK");
    EXPECT_LE(server.connections(), 2U);
    client.reset();
  }
}

/// As many descriptors as the process may have, but for those given back.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    // Before the server starts: an accept keeps to the limit that was there when it was asked for.
    const rlimit few{.rlim_cur = 256, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

  void take_all() {
    for (Fd fd(::dup(0)); fd; fd = Fd(::dup(0))) taken_.push_back(std::move(fd));
  }
  void give_back_one() { taken_.pop_back(); }

 private:
  rlimit before_{};
  std::vector<Fd> taken_;
};

TEST_P(UringLoop, PausesAcceptingWithoutDescriptorsAndRecovers) {
  NoDescriptors descriptors;
  const Served server(usual());
  Client before(server);
  before.send(get("/health"));
  EXPECT_EQ(before.answer(), "OK");
  descriptors.take_all();
  descriptors.give_back_one();
  Client after(server);  // has the last one
  after.send(get("/health"));
  std::this_thread::sleep_for(120ms);
  EXPECT_EQ(server.connections(), 1U);
  before.send(get("/health"));
  EXPECT_EQ(before.answer(), "OK");
  descriptors.give_back_one();
  EXPECT_EQ(after.answer(), "OK");
}

// ---- The ring ----

/// A ring and a connected pair of sockets: `near` is its own.
class RingTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto works = uring_available(); !works) GTEST_SKIP() << works.error();
    int both[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
    near = Fd(both[0]);
    far = Fd(both[1]);
  }
  /// On a thread of its own, as a ring's end interrupts the thread that made it.
  template <class Body>
  void with_ring(Body body) {
    std::jthread thread([this, body] {
      ASSERT_TRUE(ring.open_waker().has_value());
      const auto opened = ring.open({});
      ASSERT_TRUE(opened.has_value()) << opened.error();
      body();
      ring.close();
    });
  }
  void send(bool last) {
    struct iovec piece = {.iov_base = bytes.data(), .iov_len = bytes.size()};
    ring.send(near.get(), {&piece, 1}, Tag(nullptr, Operation::kSend), last);
  }
  std::vector<Operation> wait() {
    std::vector<Operation> operations;
    const unsigned count = ring.wait(-1);
    for (unsigned i = 0; i < count; ++i) {
      operations.push_back(Ring::tag(ring.event(i)).operation());
      ring.recycle(ring.event(i));
    }
    return operations;
  }

  std::string bytes = "answer";
  Fd near;
  Fd far;
  Ring ring;
};

TEST_F(RingTest, TellsAnAwaitedSendAtOnce) {
  with_ring([this] {
    send(/*last=*/false);
    EXPECT_EQ(wait(), std::vector{Operation::kSend});
  });
}

TEST_F(RingTest, TellsALastSendALittleLaterWhenNothingComes) {
  with_ring([this] {
    send(/*last=*/true);
    EXPECT_EQ(wait(), std::vector{Operation::kSend});
  });
}

/// So that a request and its answer are one system call, also when there is only one connection.
TEST_F(RingTest, TellsALastSendTogetherWithWhatComesNext) {
  with_ring([this] {
    ring.receive(near.get(), Tag(nullptr, Operation::kReceive));
    int together = 0;
    for (int i = 0; i < 100; ++i) {
      send(/*last=*/true);
      // The peer asks as soon as it has the answer.
      std::jthread peer([this] {
        char answer[16];
        if (::recv(far.get(), answer, sizeof answer, 0) > 0) ::send(far.get(), "question", 8, 0);
      });
      std::vector<Operation> operations = wait();
      if (operations.size() == 2) {
        ++together;
      } else {
        operations.push_back(wait().at(0));  // it took longer than kLateMs
      }
      EXPECT_EQ(operations, (std::vector{Operation::kSend, Operation::kReceive}));
    }
    EXPECT_GT(together, 0);
    ::shutdown(far.get(), SHUT_WR);
    EXPECT_EQ(wait(), std::vector{Operation::kReceive});  // nothing is under way any more
  });
}

// ---- Parts ----

TEST(HeldInput, KeepsBytesInOrder) {
  HeldInput held;
  EXPECT_TRUE(held.empty());
  held.add("abc");
  held.add("defg");
  EXPECT_EQ(held.front(5), "abcde");
  held.drop(5);
  EXPECT_EQ(held.front(5), "fg");
  held.drop(2);
  EXPECT_TRUE(held.empty());
}

TEST(Tag, CarriesItsObjectAndOperation) {
  alignas(8) int object = 7;
  for (const auto operation : {Operation::kNone, Operation::kReceive, Operation::kEnd}) {
    const Tag tag(Tag(&object, operation).bits());
    EXPECT_EQ(tag.operation(), operation);
    EXPECT_EQ(&tag.object<int>(), &object);
  }
  EXPECT_EQ(Tag(nullptr, Operation::kWake).operation(), Operation::kWake);
}

}  // namespace
}  // namespace leantea::net::uring

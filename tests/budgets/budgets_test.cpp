// What a request costs, held. Counted figures only: they are the same on a busy machine.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "budgets/figures.hpp"
#include "budgets/table.hpp"
#include "support/live_bytes.hpp"
#include "support/wire.hpp"

namespace leantea::test {
namespace {

constexpr std::string_view kHealth = "GET /health HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
constexpr std::string_view kJson = "GET /json HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
constexpr std::string_view kEcho =
    "POST /echo HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Length: 5\r\n\r\nhello";

/// A connection that serves in the steady state: its pool has blocks, its timer is set.
class Budgets : public ::testing::Test {
 protected:
  Budgets() : server_(bench_app(), {}) {
    const bool place = server_.engine().take_place();
    EXPECT_TRUE(place);
    connection_ = std::make_unique<app::Connection>(server_.engine());
    for (int i = 0; i < 10; ++i) serve(kHealth);
  }

  void serve(std::string_view request) {
    connection_->receive(request);
    connection_->sent(connection_->output_size());
  }
  double allocations_per(std::string_view request) {
    serve(request);
    const std::uint64_t before = allocation_count();
    for (int i = 0; i < 1000; ++i) serve(request);
    return static_cast<double>(allocation_count() - before) / 1000;
  }

  app::SocketlessServer server_;
  std::unique_ptr<app::Connection> connection_;
};

TEST_F(Budgets, NoAllocationForASmallRequest) {
  expect_within("allocations per /health", allocations_per(kHealth));
  expect_within("allocations per /json", allocations_per(kJson));
  expect_within("allocations per /echo, 5 bytes", allocations_per(kEcho));
}

TEST_F(Budgets, OneAllocationIsNoticed) {  // the counter counts
  const std::uint64_t before = allocation_count();
  const auto one = std::make_unique<std::string>(100, 'x');
  EXPECT_GT(allocation_count(), before);
}

TEST_F(Budgets, OnePieceOfOutputForABatch) {
  std::string batch;
  for (int i = 0; i < 16; ++i) batch += kHealth;
  connection_->receive(batch);
  std::array<struct iovec, 8> pieces{};
  expect_within("pieces of output per 16 pipelined requests",
                static_cast<double>(connection_->output(pieces).count));
  connection_->sent(connection_->output_size());
}

// What a backend would call, counted: each receive that brings whole requests, one or many, costs one send.
TEST_F(Budgets, OneSendForWhatAReceiveBrought) {
  for (const int batch : {1, 16}) {
    std::string requests;
    for (int i = 0; i < batch; ++i) requests += kHealth;
    int receives = 0, sends = 0;
    for (; receives < 1000; ++receives) {
      connection_->receive(requests);
      std::array<struct iovec, 8> pieces{};
      while (connection_->output_size() != 0) {
        std::size_t bytes = 0;
        const std::size_t count = connection_->output(pieces).count;
        for (std::size_t i = 0; i < count; ++i) bytes += pieces[i].iov_len;
        connection_->sent(bytes);
        ++sends;
      }
    }
    expect_within("sends per receive", static_cast<double>(sends) / receives);
  }
}

TEST_F(Budgets, SmallConnections) { expect_within("sizeof(Connection)", sizeof(app::Connection)); }

/// How many of the bytes of `view` are not where `whole` has them.
std::size_t copied(std::string_view view, std::string_view whole) {
  const bool inside = std::less_equal<>{}(whole.data(), view.data()) &&
                      std::less_equal<>{}(view.data() + view.size(), whole.data() + whole.size());
  return inside ? 0 : view.size();
}

TEST(CopiedBytes, ACopyIsNoticed) {
  const std::string copy(kEcho);
  EXPECT_EQ(copied(copy, kEcho), copy.size());
  EXPECT_EQ(copied(std::string_view(copy).substr(3, 5), copy), 0u);
}

// A handler sees the request where it was received, and its answer where the program has it. On its way to the
// output the answer's content is copied once, and that copy is the answer.
TEST(CopiedBytes, ARequestIsReadWhereItWasReceived) {
  static constexpr char kText[] = "OK";
  std::string_view request = kEcho;
  std::size_t bytes = 0;
  Router app;
  app.post("/echo", [&](const Request& r) {
    bytes = copied(r.path(), request) + copied(r.header("Host").value_or("absent"), request) +
            copied(r.body(), request);
    Response response = Response::text(StaticText(kText));
    bytes += copied(response.body(), kText);
    return response;
  });
  app::SocketlessServer server(std::move(app), {});
  ASSERT_TRUE(server.engine().take_place());
  app::Connection connection(server.engine());
  bytes = request.size();
  connection.receive(request);
  connection.sent(connection.output_size());
  expect_within("copied bytes per request beyond the answer", static_cast<double>(bytes));
}

// Long content leaves from where it lies: only the head is written.
TEST(CopiedBytes, LongContentIsSentFromWhereItLies) {
  const auto content = std::make_shared<const std::string>(100'000, 'x');
  Router app;
  app.get("/health", [&](const Request&) { return Response::bytes(Content(content)); });
  app::SocketlessServer server(std::move(app), {});
  ASSERT_TRUE(server.engine().take_place());
  app::Connection connection(server.engine());
  connection.receive(kHealth);
  std::array<struct iovec, 8> pieces{};
  const std::size_t count = connection.output(pieces).count;
  std::size_t bytes = 0;
  for (std::size_t i = 1; i < count; ++i) {  // the first has the head
    bytes += copied({static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len}, *content);
  }
  EXPECT_EQ(connection.output_size() - pieces[0].iov_len, content->size());
  connection.sent(connection.output_size());
  expect_within("copied bytes of content of 100,000", static_cast<double>(bytes));
}

/// Figures of the release bench server, as leantea-lab counts them; skips where there is no release build or
/// a tool is missing.
class ReleaseBudgets : public ::testing::Test {
 protected:
  static Figures lab(const std::string& arguments) {
    const char* const folder = std::getenv("LEANTEA_RELEASE_BIN");
    const std::string command = std::string(folder == nullptr ? "." : folder) + "/leantea-lab " +
                                arguments + " --json - 2>/dev/null";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"),
                                                               &pclose);
    std::string text;
    std::array<char, 4096> buffer{};
    while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
      text.append(buffer.data(), got);
    return Figures::from_json(text.substr(std::min(text.find('{'), text.size())));
  }
  static std::string at(int server, std::string_view figure) {
    return "servers/" + std::to_string(server) + "/" + std::string(figure);
  }
  static bool has(const char* tool) {
    return std::system((std::string("command -v ") + tool + " >/dev/null 2>&1").c_str()) == 0;
  }
  void SetUp() override {
    if (std::getenv("LEANTEA_RELEASE_BIN") == nullptr)
      GTEST_SKIP() << "LEANTEA_RELEASE_BIN is not set: ./dev test sets it";
  }
};

TEST_F(ReleaseBudgets, SystemCallsPerRequest) {
  if (!has("strace")) GTEST_SKIP() << "strace is missing: apt-get install strace";
  const Figures figures = lab("syscalls");
  ASSERT_FALSE(figures.empty()) << "leantea-lab syscalls gave no figures";
  for (int row = 0; figures.has(at(row, "connections")); ++row) {
    double receives = 0, sends = 0, controls = 0, others = 0;
    for (const auto& [name, count] : figures.members(at(row, "calls_per_request"))) {
      if (name.starts_with("recv") || name == "read")
        receives += count;
      else if (name.starts_with("send") || name == "write")
        sends += count;
      else if (name == "epoll_ctl")
        controls += count;
      else if (!name.starts_with("epoll_"))
        others += count;
    }
    expect_within("recv calls per request", receives);
    expect_within("send calls per request", sends);
    expect_within("epoll_ctl calls per request", controls);
    expect_within("other calls per request", others);
  }
}

TEST_F(ReleaseBudgets, InstructionsPerRequest) {
  if (!has("valgrind")) GTEST_SKIP() << "valgrind is missing: apt-get install valgrind";
  const Figures figures = lab("instructions --requests 2000");
  ASSERT_FALSE(figures.empty()) << "leantea-lab instructions gave no figures";
  for (int row = 0; figures.has(at(row, "instructions_per_request")); ++row)
    expect_within("instructions per " + figures.text(at(row, "route")),
                  figures.number(at(row, "instructions_per_request")));
}

TEST_F(ReleaseBudgets, MemoryPerIdleConnection) {
  const Figures figures = lab("idle-memory --servers ours --connections 4000");
  ASSERT_FALSE(figures.empty()) << "leantea-lab idle-memory gave no figures";
  expect_within("bytes per idle connection",
                figures.number(at(0, "anonymous_bytes_per_connection")));
  expect_within("resident bytes at start", figures.number(at(0, "started/resident")));
}

}  // namespace
}  // namespace leantea::test

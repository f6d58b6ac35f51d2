// The floor server, the lab's client and the checks, together.
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "checks.hpp"
#include "client.hpp"
#include "drive.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "servers.hpp"
#include "targets.hpp"
#include "temporary.hpp"

namespace leantea::lab {
namespace {

/// Both floors: they have the same flags and do the same.
class Floor : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string program = program_directory() + "/" + GetParam();
    if (GetParam() == "floor") return;
    if (find_program(program).empty()) GTEST_SKIP() << "built without liburing";
    Process probe({.words = {program, "--probe"}, .cpus = {}});
    const auto exit = probe.wait_until(Clock::now() + std::chrono::seconds(10));
    if (!exit || exit->code != 0) GTEST_SKIP() << probe.errors();
  }

  Server& start(FloorMode mode, std::size_t content_bytes = 2) {
    ServerPlan plan = floor_plan(Load{});
    plan.name = "floor";
    plan.program = program_directory() + "/" + GetParam();
    plan.floor_mode = mode;
    plan.content_bytes = content_bytes;
    server_ = std::make_unique<Server>(plan, directory_.path());
    return *server_;
  }

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<Server> server_;
};

constexpr std::string_view kGet = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n";

TEST_P(Floor, AnswersEachHeadWithAConstant) {
  Client client(start(FloorMode::kPlain).port());
  const Answer answer = client.exchange(kGet);
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.content, "OK");
  EXPECT_EQ(answer.field("content-type"), "text/plain");
  EXPECT_TRUE(answer.field("date"));
}

TEST_P(Floor, AnswersAsManyPipelinedHeadsAsItReceives) {
  Client client(start(FloorMode::kPipelined).port());
  std::string batch;
  for (int i = 0; i < 200; ++i) batch += kGet;
  client.send(batch);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(client.receive().content, "OK");
}

TEST_P(Floor, SeesATerminatorThatIsCutInTwo) {
  Server& server = start(FloorMode::kPipelined);
  for (std::size_t cut = 1; cut < kGet.size(); ++cut) {
    Client client(server.port());
    // The whole request in front makes sure that the first part is received before the second is sent.
    client.send(std::string(kGet) + std::string(kGet.substr(0, cut)));
    EXPECT_EQ(client.receive().content, "OK");
    client.send(kGet.substr(cut));
    EXPECT_EQ(client.receive().content, "OK") << "cut after " << cut << " bytes";
  }
}

TEST_P(Floor, EchoesAsManyBytesAsItGets) {
  Server& server = start(FloorMode::kEcho);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{5}, std::size_t{70'000}, std::size_t{5'000'000}}) {
    Client client(server.port());
    const std::string request =
        "POST /echo HTTP/1.1\r\ncontent-length: " + std::to_string(size) + "\r\n\r\n";
    for (int i = 0; i < 2; ++i) {
      client.send(request);
      client.send(std::string(size, 'x'));
      EXPECT_EQ(client.receive().content, std::string(size, 'x'));
    }
  }
}

TEST_P(Floor, EchoesPipelinedRequestsInOrder) {
  Client client(start(FloorMode::kEcho).port());
  client.send(
      "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nxPOST / HTTP/1.1\r\nContent-Length: "
      "3\r\n\r\nxxx");
  EXPECT_EQ(client.receive().content, "x");
  EXPECT_EQ(client.receive().content, "xxx");
}

TEST_P(Floor, ClosesAfterTheAnswerWhenAsked) {
  Client client(start(FloorMode::kClose).port());
  EXPECT_EQ(client.exchange(kGet).field("connection"), "close");
  EXPECT_THROW(client.receive(), Failure);
}

TEST_P(Floor, PassesTheChecksInEveryMode) {
  EXPECT_NO_THROW(check(start(FloorMode::kPlain), "/health", 0));
  EXPECT_NO_THROW(check(start(FloorMode::kPlain, kJson.size()), "/json", 0));
  EXPECT_NO_THROW(check(start(FloorMode::kPipelined), "/health", 0));
  EXPECT_NO_THROW(check(start(FloorMode::kHttp10), "/health", 0));
  EXPECT_NO_THROW(check(start(FloorMode::kClose), "/health", 0));
  EXPECT_NO_THROW(check(start(FloorMode::kEcho), "/echo", 1024));
}

TEST_P(Floor, CheckSaysWhatIsWrongAndWithWhom) {
  // The echo floor answers a GET with no content: not what a server of constants has to do.
  Server& server = start(FloorMode::kEcho);
  try {
    check(server, "/health", 0);
    FAIL() << "it passed";
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("floor answers /health wrongly"), std::string::npos)
        << failure.what();
  }
}

TEST_P(Floor, CheckRefusesRoutesThatAreNotThere) {
  EXPECT_THROW(check(start(FloorMode::kPlain), "/nothing", 0), Failure);
}

TEST_P(Floor, IsDrivenOverManyConnections) {
  Server& server = start(FloorMode::kPlain);
  EXPECT_NO_THROW(drive(server.port(), wrk_request("/health", server.port()), 64, 16));
  EXPECT_THROW(drive(server.port(), kGet, 10, 3), std::logic_error);
}

TEST_P(Floor, HasManyConnectionsOneAfterTheOther) {
  Server& server = start(FloorMode::kClose);
  for (int i = 0; i < 2000; ++i)
    ASSERT_EQ(Client(server.port()).exchange(kGet).content, "OK") << "connection " << i;
}

INSTANTIATE_TEST_SUITE_P(Both, Floor, testing::Values("floor", "floor_uring"),
                         [](const auto& test) { return test.param; });

TEST(Port, IsReadOfTheLineAServerPrints) {
  EXPECT_EQ(port_in("floor listening on http://127.0.0.1:40281\n"), 40281);
  EXPECT_EQ(port_in("listening on http://127.0.0.1:8080/health"), 8080);
  EXPECT_EQ(port_in("listening on http://127.0.0.1:80"), 0)
      << "the rest of the number may still come";
  EXPECT_EQ(port_in("listening"), 0);
}

TEST(AbRequest, IsWhatAbSends) {
  EXPECT_EQ(ab_request("/health", 8080),
            "GET /health HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: 127.0.0.1:8080\r\n"
            "User-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n");
  EXPECT_EQ(ab_request("/echo", 8080, "hello"),
            "POST /echo HTTP/1.0\r\nConnection: Keep-Alive\r\nContent-length: 5\r\n"
            "Content-type: application/octet-stream\r\nHost: 127.0.0.1:8080\r\n"
            "User-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\nhello");
}

TEST(Plans, NameTheServers) {
  const Load echo{.requests = {{.method = "POST", .target = "/echo"}}};
  const Targets targets{
      .servers = {"ours", "nginx", "floor"}, .ours = "x", .backends = {"reactor", "uring"}};
  std::vector<std::string> left_out;
  const auto plans = plans_of(targets, echo, left_out);
  ASSERT_EQ(plans.size(), 3U) << "nginx has no echo";
  EXPECT_EQ(plans[0].name, "ours reactor");
  EXPECT_EQ(plans[1].backend, "uring");
  EXPECT_EQ(plans[2].floor_mode, FloorMode::kEcho);
  EXPECT_THROW(plans_of({.servers = {"apache"}, .ours = {}, .backends = {}}, Load{}, left_out),
               Failure);
}

}  // namespace
}  // namespace leantea::lab

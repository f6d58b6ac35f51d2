// Servers of any kind: how they are started, what is said when they are not right, and whose they are.
#include "servers.hpp"

#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "checks.hpp"
#include "client.hpp"
#include "failure.hpp"
#include "listeners.hpp"
#include "targets.hpp"
#include "temporary.hpp"

namespace leantea::lab {
namespace {

class Servers : public testing::Test {
 protected:
  /// A server that is started by `words`.
  static ServerPlan plan(std::vector<std::string> words) {
    return {.kind = Kind::kCommand,
            .name = "mine",
            .program = {},
            .backend = {},
            .cpus = {},
            .recipe = {.words = std::move(words), .files = {}},
            .patience = std::chrono::seconds(10)};
  }

  static ServerPlan script(const std::string& text) { return plan({"sh", "-c", text}); }

  /// The floor, which takes a port as any server of a user's does.
  static ServerPlan floor_as_mine(const std::string& flags = "") {
    return script(
        fmt::format("exec {}/floor --port {{port}} {} >/dev/null", program_directory(), flags));
  }

  std::string error_of_start(const ServerPlan& plan) {
    try {
      const Server server(plan, directory_.path());
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "it started";
  }

  TemporaryDirectory directory_;
};

TEST_F(Servers, AreStartedOnAFreePort) {
  const Server server(floor_as_mine("--pipeline-aware"), directory_.path());
  EXPECT_EQ(Client(server.port()).exchange(wrk_request("/health", server.port())).content, "OK");
  EXPECT_EQ(listeners_on(server.port()), server.processes());
  EXPECT_TRUE(server.cpu());
  EXPECT_EQ(check(server, "/health", 0).server, "mine");
}

TEST_F(Servers, TheirFilesAreFilledIn) {
  ServerPlan mine = floor_as_mine();
  mine.recipe.files = {{"sub/a.conf", "port {port} room {connections}"}};
  mine.recipe.words[2] =
      "cp {directory}/sub/a.conf " + directory_.path() + " && " + mine.recipe.words[2];
  mine.connections = 100;
  const Server server(mine, directory_.path());
  std::ifstream file(directory_.path() + "/a.conf");
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, fmt::format("port {} room 264", server.port()));
}

TEST_F(Servers, OneThatChoosesItsPortPrintsIt) {
  const Server server(plan({program_directory() + "/floor"}), directory_.path());
  EXPECT_NE(server.port(), 0);
}

TEST_F(Servers, OneThatDiesAtOnceIsQuoted) {
  EXPECT_EQ(error_of_start(script("echo no such option >&2; exit 3; : {port}")),
            "mine has ended with code 3: no such option");
  EXPECT_EQ(error_of_start(script("exit 3; : {port}")),
            "mine has ended with code 3: it said nothing");
}

TEST_F(Servers, OneThatNeverListensIsQuoted) {
  ServerPlan silent = script("echo waiting; exec sleep 100; : {port}");
  silent.patience = std::chrono::seconds(2);  // in which a shell speaks on a busy machine, too
  const std::string error = error_of_start(silent);
  EXPECT_TRUE(error.starts_with("mine took no connection on port ")) << error;
  EXPECT_TRUE(error.ends_with(" s: waiting")) << error;
}

TEST_F(Servers, OneThatFindsItsPortTakenGetsAnother) {
  // The first of its ports is taken; which attempt it is, is seen by a file.
  ServerPlan mine = floor_as_mine();
  mine.recipe.words[2] =
      fmt::format("cd {}; test -e again || {{ touch again; echo in use; exit 1; }}; ",
                  directory_.path()) +
      mine.recipe.words[2];
  EXPECT_NE(Server(mine, directory_.path()).port(), 0);
  EXPECT_EQ(error_of_start(script("echo address already in use; exit 1; : {port}")),
            "mine found its port taken 5 times: address already in use");
}

TEST_F(Servers, OneThatDiesLaterIsQuoted) {
  Server server(floor_as_mine(), directory_.path());
  EXPECT_NO_THROW(server.must_run());
  ::kill(server.process().pid(), SIGKILL);
  server.process().wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(5));
  try {
    server.must_run();
    FAIL() << "it runs";
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "mine has ended with code 137: it said nothing");
  }
}

TEST_F(Servers, OneThatAnswersWronglyIsFound) {
  const Server server(floor_as_mine("--content-bytes 3"), directory_.path());
  try {
    check(server, "/health", 0);
    FAIL() << "it passed";
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "mine answers /health wrongly: content is OOO, not OK");
  }
}

TEST_F(Servers, ARouteThatAUsersServerDoesNotHaveIsToldApart) {
  const Server server(peer_plan({}, "nginx"), directory_.path());
  const Server mine({.kind = Kind::kUrl, .name = "mine", .port = server.port()}, directory_.path());
  EXPECT_NO_THROW(check(mine, "/json", 0));
  EXPECT_THROW(check(mine, "/echo", 5), RouteMissing);
}

TEST_F(Servers, OneThatRunsAlreadyIsFoundByItsPort) {
  auto theirs = std::make_unique<Server>(floor_as_mine("--pipeline-aware"), directory_.path());
  const ServerPlan url{.kind = Kind::kUrl, .name = "url", .port = theirs->port()};
  Server server(url, directory_.path());
  EXPECT_EQ(server.port(), theirs->port());
  EXPECT_EQ(server.processes(), theirs->processes());
  EXPECT_TRUE(server.cpu());
  EXPECT_NO_THROW(check(server, "/health", 0));
  EXPECT_NO_THROW(server.must_run());
  theirs.reset();
  EXPECT_THROW(server.must_run(), Failure);
  EXPECT_NE(error_of_start(url).find("start it first"), std::string::npos);
}

TEST_F(Servers, OneThatRunsAlreadyCannotBeTraced) {
  ServerPlan url{.kind = Kind::kUrl, .name = "url", .port = 1};
  url.under = {"strace", "-c"};
  EXPECT_EQ(error_of_start(url),
            "url runs already and cannot be put under strace: name it by --command");
}

TEST(Listeners, AreNobodyOnAPortThatIsNotOpen) { EXPECT_TRUE(listeners_on(1).empty()); }

TEST(HeadSizes, AreReportedForEachPath) {
  EXPECT_EQ(describe({{"a", "/health", 100}, {"b", "/health", 120}, {"a", "/json", 90}}),
            (std::vector<std::string>{"bytes of an answer's head on /health: a 100, b 120",
                                      "bytes of an answer's head on /json: a 90"}));
  EXPECT_NE(describe({{"a", "/sum", 100}, {"b", "/sum", 165}}).front().find("more than 64 apart"),
            std::string::npos);
}

}  // namespace
}  // namespace leantea::lab

// Order, void runs, disturbances and deadlines, with a load generator that says what the test wants: a program named
// wrk that is found first in $PATH.
#include "blocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "failure.hpp"
#include "history.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "process.hpp"
#include "report.hpp"
#include "targets.hpp"
#include "temporary.hpp"

namespace leantea::lab {
namespace {

class BlocksTest : public testing::Test {
 protected:
  BlocksTest() : path_(std::getenv("PATH")) {
    ::setenv("PATH", (directory_.path() + ":" + path_).c_str(), 1);
  }
  ~BlocksTest() override { ::setenv("PATH", path_.c_str(), 1); }

  /// From now on the n-th call of wrk runs the n-th of these shell commands, and the last one from then on.
  void script_wrk(const std::vector<std::string>& commands) {
    const std::string file = directory_.path() + "/wrk";
    std::ofstream out(file);
    out << "#!/bin/sh\ncd " << directory_.path() << "\n"
        << "for last; do :; done; echo \"$last\" >>calls\n"
        << "case $(wc -l <calls) in\n";
    for (std::size_t i = 0; i < commands.size(); ++i) {
      out << (i + 1 == commands.size() ? std::string("*") : std::to_string(i + 1)) << ") "
          << commands[i] << " ;;\n";
    }
    out << "esac\n";
    out.close();
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    std::filesystem::remove(directory_.path() + "/calls");
  }

  /// The addresses that wrk was called with, in order.
  std::vector<std::string> calls() const {
    std::ifstream file(directory_.path() + "/calls");
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  static std::vector<Entrant> entrants(std::size_t servers) {
    std::vector<Entrant> all;
    for (std::size_t i = 0; i < servers; ++i) {
      ServerPlan plan = floor_plan(Load{});
      plan.name = std::string(1, static_cast<char>('A' + i));
      all.push_back({.server = plan, .load = Load{}});
    }
    return all;
  }

  static ContestResult run(std::size_t servers, BlockPlan plan) {
    Stage stage({.server = {}, .load = {}});
    ContestResult result{.name = "test", .title = "a test"};
    plan.warm_up = {};
    stage.run(entrants(servers), plan, result, [](const std::string&) {});
    return result;
  }

 private:
  TemporaryDirectory directory_;
  std::string path_;
};

std::string answer(int requests, int status, int timeout) {
  return fmt::format(
      "echo lab: requests={} duration=1000000 p50=10 p99=20 p999=30 max=40 connect=0 read=0 "
      "write=0 status={} timeout={}",
      requests, status, timeout);
}

const std::string kGood = answer(1000, 0, 0);

TEST_F(BlocksTest, EachBlockGoesThereAndBackAndTheNextOneTheOtherWayRound) {
  script_wrk({kGood});
  const ContestResult result = run(2, {.blocks = 3});
  ASSERT_EQ(result.orders.size(), 3U);
  EXPECT_EQ(result.orders[0], (std::vector<std::string>{"A", "B", "B", "A"}));
  EXPECT_EQ(result.orders[1], (std::vector<std::string>{"B", "A", "A", "B"}));
  EXPECT_EQ(result.orders[2], result.orders[0]);
  ASSERT_EQ(result.lanes.size(), 2U);
  EXPECT_EQ(result.lanes[1].name, "B");
  EXPECT_EQ(result.lanes[1].blocks.at(2).samples.size(), 2U);
  EXPECT_EQ(calls().size(), 12U);
}

TEST_F(BlocksTest, ServersAreStartedAnewInEachBlock) {
  script_wrk({kGood});
  (void)run(2, {.blocks = 4});
  const auto ports = calls();
  ASSERT_EQ(ports.size(), 16U);
  for (std::size_t block = 0; block < 4; ++block) {
    EXPECT_EQ(ports[4 * block], ports[4 * block + 3]);
    EXPECT_EQ(ports[4 * block + 1], ports[4 * block + 2]);
  }
  EXPECT_GT((std::set<std::string>(ports.begin(), ports.end()).size()), 2U);
}

TEST_F(BlocksTest, ABlocksValueIsTheGeometricMeanOfItsRuns) {
  script_wrk({answer(1000, 0, 0), answer(4000, 0, 0)});
  const ContestResult result = run(1, {.blocks = 1});
  const auto values = values_of(result.lanes[0], Metric::kRequestsPerSecond);
  ASSERT_EQ(values.size(), 1U);
  EXPECT_NEAR(*values[0], 2000, 1e-6);
}

TEST_F(BlocksTest, AVoidRunIsRepeated) {
  script_wrk({answer(1000, 7, 0), answer(1000, 0, 1), kGood});
  const ContestResult result = run(1, {.blocks = 1});
  EXPECT_FALSE(result.lanes[0].is_void());
  EXPECT_EQ(result.lanes[0].voids,
            (std::vector<std::string>{"7 answers were not 2xx", "1 socket errors"}));
  EXPECT_NE(table_of({}, result)
                .find("2 runs were void (1 socket errors; 7 answers were not 2xx) "
                      "and repeated"),
            std::string::npos)
      << table_of({}, result);
}

TEST_F(BlocksTest, ARunThatStaysVoidMakesTheServerVoidAndLeavesTheOthers) {
  // A is asked first, and three times; then B, and A not again.
  script_wrk({answer(0, 0, 0), answer(0, 0, 0), answer(0, 0, 0), kGood});
  const ContestResult result = run(2, {.blocks = 1});
  EXPECT_EQ(calls().size(), 5U);
  EXPECT_TRUE(result.lanes[0].is_void());
  EXPECT_FALSE(result.lanes[1].is_void());
  EXPECT_NE(table_of({}, result).find("void"), std::string::npos);
}

TEST_F(BlocksTest, AClientThatFailsMakesTheRunVoid) {
  script_wrk({"echo unable to connect >&2; exit 1"});
  const ContestResult result = run(1, {.blocks = 1});
  EXPECT_TRUE(result.lanes[0].is_void());
  EXPECT_NE(result.lanes[0].voids.at(0).find("unable to connect"), std::string::npos);
}

TEST_F(BlocksTest, NoBlockIsBegunThatWouldNotEndBeforeTheDeadline) {
  script_wrk({"sleep 0.2; " + kGood});
  const ContestResult result =
      run(1, {.blocks = 50, .deadline = Clock::now() + std::chrono::seconds(4)});
  EXPECT_GE(result.orders.size(), 1U);
  EXPECT_LT(result.orders.size(), 50U);
  EXPECT_TRUE(run(1, {.blocks = 5, .deadline = Clock::now()}).orders.empty());
}

TEST_F(BlocksTest, MoreBlocksAreAddedToThoseThatThereAre) {
  script_wrk({kGood});
  Stage stage({.server = {}, .load = {}});
  ContestResult result;
  const auto nothing = [](const std::string&) {};
  stage.run(entrants(2), {.blocks = 1, .warm_up = {}}, result, nothing);
  stage.run(entrants(2), {.blocks = 3, .warm_up = {}}, result, nothing);
  EXPECT_EQ(result.orders.size(), 3U);
  EXPECT_EQ(result.lanes.size(), 2U);
  EXPECT_EQ(calls().size(), 12U);
}

TEST_F(BlocksTest, LoadsInTurnsAreOneRunOfEachServerWithoutLatencies) {
  if (find_program("wrk").empty()) GTEST_SKIP() << "wrk is not installed";
  Stage stage({.server = {}, .load = {}});
  ContestResult result;
  std::vector<Entrant> both = entrants(2);
  for (Entrant& entrant : both) {
    entrant.load.connections = 4;
    entrant.load.duration = std::chrono::milliseconds(200);
  }
  stage.run(both, {.blocks = 2, .turn = std::chrono::milliseconds(20), .warm_up = {}}, result,
            [](const std::string&) {});
  ASSERT_EQ(result.orders.size(), 2U);
  EXPECT_EQ(result.orders[0], (std::vector<std::string>{"A", "B", "B", "A"}));
  for (const Lane& lane : result.lanes) {
    EXPECT_FALSE(lane.is_void()) << lane.name;
    const Sample& sample = lane.blocks.at(1).samples.at(0);
    EXPECT_GT(sample.load.requests, 100U);
    EXPECT_GE(sample.load.seconds, 0.2) << "its turns, and the time until wrk sees that it is over";
    EXPECT_LT(sample.load.seconds, 5);
    EXPECT_GT(sample.cpu_micros_per_request(), 0);
    EXPECT_FALSE(figure_of(lane, Metric::kP99)) << "a request waits while its load rests";
  }
}

TEST_F(BlocksTest, ALoadInTurnsThatEndsEarlyMakesItsServerVoid) {
  script_wrk({"echo cannot connect >&2; exit 1"});
  Stage stage({.server = {}, .load = {}});
  ContestResult result;
  stage.run(entrants(1), {.blocks = 1, .turn = std::chrono::milliseconds(50), .warm_up = {}},
            result, [](const std::string&) {});
  ASSERT_TRUE(result.lanes[0].is_void());
  EXPECT_NE(result.lanes[0].voids.at(0).find("cannot connect"), std::string::npos)
      << result.lanes[0].voids.at(0);
}

TEST_F(BlocksTest, RunsApartAreOneForEachServerAndBlock) {
  Stage stage({.server = {}, .load = {}});
  ContestResult result;
  std::vector<std::size_t> lanes;
  stage.run_apart(
      entrants(2), {.blocks = 2, .warm_up = {}}, result, [](const std::string&) {},
      [&](std::size_t lane, Server&) {
        lanes.push_back(lane);
        if (lanes.size() == 4) throw Failure("enough");
        Sample sample;
        sample.bytes_per_connection = 100;
        return sample;
      });
  EXPECT_EQ(lanes, (std::vector<std::size_t>{0, 1, 1, 0}));
  EXPECT_TRUE(result.lanes[0].is_void());
  EXPECT_EQ(result.lanes[0].voids, (std::vector<std::string>{"enough"}));
  EXPECT_DOUBLE_EQ(figure_of(result.lanes[1], Metric::kBytesPerConnection)->median, 100);
}

TEST_F(BlocksTest, TheJsonOfARunIsOneThatTheHistoryReads) {
  script_wrk({kGood});
  BenchReport report;
  report.command = "leantea-lab bench";
  report.machine = describe_machine();
  report.references = {"A"};
  report.contests.push_back(run(2, {.blocks = 6}));
  const RecordedRun recorded = parse_run(json_of(report), "test");
  const JsonValue& scenario = recorded.all["scenarios"].elements()[0];
  EXPECT_EQ(scenario["name"].text(), "test");
  ASSERT_EQ(scenario["servers"].elements().size(), 2U);
  const JsonValue& server = scenario["servers"].elements()[1];
  EXPECT_EQ(server["name"].text(), "B");
  EXPECT_DOUBLE_EQ(server["requests_per_second"]["median"].number().value(), 1000);
  EXPECT_EQ(server["ratio_to"]["A"]["requests_per_second"]["verdict"].text(), "equivalent");
  ASSERT_EQ(server["blocks"].elements().size(), 6U);
  EXPECT_EQ(server["blocks"].elements()[0]["order"].elements().size(), 4U);
  EXPECT_EQ(server["blocks"].elements()[0]["runs"].elements().size(), 2U);
  EXPECT_NE(markdown_of(report).find("1.000 (1.000–1.000) equivalent"), std::string::npos)
      << markdown_of(report);
}

Sample sample_with(double client_share, double client_core, double server_share) {
  Sample sample;
  sample.load_share = client_share;
  sample.load_core_busy = client_core;
  sample.server_share = server_share;
  sample.server_cores_busy = server_share;
  return sample;
}

Lane lane_with(const Sample& sample) {
  return {.name = "x", .load = {}, .blocks = {{.samples = {sample}, .confined = {}}}, .voids = {}};
}

TEST(LimitedByClient, IsSaidOnlyWhenTheClientItselfFillsItsCore) {
  EXPECT_TRUE(limited_by_client(lane_with(sample_with(0.97, 0.99, 0.60))));
  EXPECT_FALSE(limited_by_client(lane_with(sample_with(0.97, 0.99, 0.97)))) << "both are full";
  EXPECT_FALSE(limited_by_client(lane_with(sample_with(0.50, 0.60, 0.97))));
  EXPECT_FALSE(limited_by_client(lane_with(sample_with(0.10, 1.00, 0.10))))
      << "other programs fill the core";
}

TEST(Disturbance, IsWhatTheHostAndOtherProgramsTook) {
  EXPECT_EQ(disturbance_of(sample_with(0.97, 0.99, 0.60)), "");
  EXPECT_EQ(disturbance_of(sample_with(0.50, 0.90, 0.60)),
            "other programs took 40 % of the client's core");
  Sample sample = sample_with(0.97, 0.99, 0.60);
  sample.server_cores_busy = 0.90;
  EXPECT_EQ(disturbance_of(sample), "other programs took 30 % of the server's cores");
  sample.stolen = 0.2;
  EXPECT_EQ(disturbance_of(sample), "the host took 20 % of the cores");
}

}  // namespace
}  // namespace leantea::lab

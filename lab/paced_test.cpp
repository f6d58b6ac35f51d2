// Paced loads and slow readers, with servers that really run.
#include "paced.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "failure.hpp"
#include "interrupt.hpp"
#include "slow_readers.hpp"
#include "targets.hpp"
#include "temporary.hpp"

namespace leantea::lab {
namespace {

Load small_load(std::chrono::milliseconds duration) {
  Load load;
  load.connections = 4;
  load.duration = duration;
  return load;
}

TEST(Paced, SendsWhatIsDueAndCountsFromThen) {
  const TemporaryDirectory directory;
  const Load load = small_load(std::chrono::milliseconds(400));
  Server server(floor_plan(load), directory.path());
  const PacedResult result = run_paced(server.port(), load, 500, {}, false);
  EXPECT_EQ(result.sent, 200U);
  EXPECT_EQ(result.answered, result.sent);
  EXPECT_EQ(result.latency.count(), result.sent);
  EXPECT_GE(result.seconds, 0.39);
}

// A server that rests for 200 ms is asked meanwhile all the same, and each of these requests has waited.
TEST(Paced, AServerThatStallsPaysForEveryRequestThatWasDue) {
  const TemporaryDirectory directory;
  const Load load = small_load(std::chrono::milliseconds(600));
  Server server(floor_plan(load), directory.path());
  Process rest({.words = {"sh", "-c", "sleep 0.2; kill -STOP $0; sleep 0.2; kill -CONT $0",
                          std::to_string(server.process().pid())},
                .cpus = {}});
  const PacedResult result = run_paced(server.port(), load, 500, {}, false);
  EXPECT_EQ(result.answered, 300U);
  // Of 300 requests about 100 were due while it rested, half of them for longer than 100 ms.
  EXPECT_GT(result.latency.percentile(90), std::chrono::milliseconds(60));
}

TEST(Paced, AServerThatEndsIsAFailure) {
  const TemporaryDirectory directory;
  const Load load = small_load(std::chrono::milliseconds(600));
  Server server(floor_plan(load), directory.path());
  Process end(
      {.words = {"sh", "-c", "sleep 0.2; kill -KILL $0", std::to_string(server.process().pid())},
       .cpus = {}});
  EXPECT_THROW(run_paced(server.port(), load, 500, {}, false), Failure);
}

TEST(Paced, AScenarioGivesAContestForEachRate) {
  Stage stage({.server = {}, .load = {}});
  Scenario scenario = find_scenarios({"paced"}).front();
  const Load load = small_load(std::chrono::milliseconds(200));
  std::vector<ContestResult> results;
  run_paced_scenario(stage, scenario, {{.server = floor_plan(load), .load = load}},
                     {.blocks = 1, .warm_up = {}}, 400, results, [](const std::string&) {});
  ASSERT_EQ(results.size(), 1U) << "one rate was chosen";
  EXPECT_DOUBLE_EQ(results[0].rate, 400);
  ASSERT_EQ(results[0].lanes.size(), 1U);
  EXPECT_FALSE(results[0].lanes[0].is_void());
  ASSERT_TRUE(results[0].lanes[0].latency);
  EXPECT_EQ(results[0].lanes[0].latency->count(), 80U);
}

TEST(SlowReaders, AreHeldInBoundedMemoryAndLeaveRoomForOthers) {
  if (find_program("wrk").empty()) GTEST_SKIP() << "wrk is not installed";
  if (!std::filesystem::exists(program_directory() + "/bench_server"))
    GTEST_SKIP() << "no bench server is built";
  Stage stage({.server = {}, .load = {}});
  Scenario scenario = find_scenarios({"slow-reader"}).front();
  scenario.slow_readers = 8;
  const Load load = small_load(std::chrono::milliseconds(300));
  ContestResult result;
  run_slow_readers(stage, scenario, {{.server = ours_plan({}, "ours", ""), .load = load}},
                   {.blocks = 1, .warm_up = {}}, result, [](const std::string&) {});
  ASSERT_EQ(result.lanes.size(), 1U);
  ASSERT_FALSE(result.lanes[0].is_void());
  const Sample& sample = result.lanes[0].blocks[0].samples[0];
  EXPECT_GT(sample.load.requests, 0U);
  EXPECT_LT(sample.bytes_per_connection, 1024 * 1024);
}

}  // namespace
}  // namespace leantea::lab

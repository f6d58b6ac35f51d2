#include "compare.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "failure.hpp"
#include "process.hpp"

namespace leantea::lab {
namespace {

/// The floor as a server of the user's.
std::string floor_command(const std::string& flags = "") {
  return fmt::format("{}/floor --port {{port}}{}", program_directory(), flags);
}

CompareOptions options(std::vector<std::string> commands, std::vector<std::string> names) {
  CompareOptions options;
  options.run.scenarios = {"health"};
  options.run.blocks = 1;
  options.run.seconds = 1;  // wrk is told to end after it: on a busy machine it may begin late
  options.run.connections = 4;
  options.run.targets.servers = {"none"};
  options.run.targets.commands = std::move(commands);
  options.run.targets.names = std::move(names);
  return options;
}

std::string error_of(const CompareOptions& options) {
  try {
    compare(options);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitUsage);
    return failure.what();
  }
  return "no error";
}

class CompareTest : public testing::Test {
 protected:
  void SetUp() override {
    if (find_program("wrk").empty()) GTEST_SKIP() << "wrk is not installed";
  }
};

TEST_F(CompareTest, TakesTwoServersOfTheUsers) {
  EXPECT_EQ(compare(options({floor_command(), floor_command()}, {"one", "two"})), 0);
}

TEST_F(CompareTest, AServerThatAnswersWronglyEndsTheRun) {
  try {
    compare(options({floor_command(), floor_command(" --content-bytes 3")}, {"one", "two"}));
    FAIL() << "it was measured";
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("two answers /health wrongly"), std::string::npos)
        << failure.what();
  }
}

TEST_F(CompareTest, OneServerIsNoComparison) {
  CompareOptions one = options({}, {});
  one.run.targets.servers = {"floor"};
  EXPECT_EQ(error_of(one),
            "nothing to compare: bytes of an answer's head on /health: floor 101; health is left "
            "out: fewer than two servers can take part");
}

TEST_F(CompareTest, TheReferenceHasToTakePart) {
  CompareOptions both = options({}, {});
  both.run.targets.servers = {"floor", "ours"};
  if (!std::filesystem::exists(program_directory() + "/bench_server"))
    GTEST_SKIP() << "no bench server is built";
  both.reference = "apache";
  EXPECT_EQ(error_of(both), "the reference apache takes no part in health");
}

TEST_F(CompareTest, OnlyLoadsOfWrkAndAbAreCompared) {
  CompareOptions paced = options({}, {});
  paced.run.targets.servers = {"floor"};
  paced.run.scenarios = {"paced"};
  EXPECT_EQ(error_of(paced),
            "compare takes scenarios with a load of wrk or ab; paced is for bench");
}

TEST_F(CompareTest, TwoBuildsHaveARatioAndAVerdict) {
  const std::string ours = program_directory() + "/bench_server";
  if (!std::filesystem::exists(ours)) GTEST_SKIP() << "no bench server is built";
  const CompareOptions chosen = options({}, {});
  const auto comparisons = compare_builds(ours, ours, chosen.run, [](const std::string&) {});
  ASSERT_EQ(comparisons.size(), 1U);
  EXPECT_EQ(comparisons[0].metric, Metric::kCpuMicros);
  EXPECT_EQ(comparisons[0].ratio.count, 1U);
  EXPECT_GT(comparisons[0].ratio.median, 0.3);
  EXPECT_LT(comparisons[0].ratio.median, 3);
  EXPECT_EQ(comparisons[0].verdict, Verdict::kInconclusive) << "from one block there is none";
  EXPECT_EQ(in_words(comparisons[0]).substr(0, 21), "health: inconclusive,");
}

}  // namespace
}  // namespace leantea::lab

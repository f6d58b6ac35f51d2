// Interleaving, void runs and deadlines, with a load generator that says what the test wants: a program
// named wrk that is
// found first in $PATH.
#include "contest.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "interrupt.hpp"
#include "report.hpp"
#include "targets.hpp"
#include "temporary.hpp"

namespace leantea::lab {
namespace {

constexpr auto kNoDeadline = Clock::time_point::max();

class ContestTest : public testing::Test {
 protected:
  ContestTest() : path_(std::getenv("PATH")) {
    ::setenv("PATH", (directory_.path() + ":" + path_).c_str(), 1);
  }
  ~ContestTest() override { ::setenv("PATH", path_.c_str(), 1); }

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

  static Contest contest(int rounds, std::size_t servers = 1) {
    Contest contest{.title = "test", .entrants = {}, .rounds = rounds};
    for (std::size_t i = 0; i < servers; ++i) {
      ServerPlan plan = floor_plan(Load{});
      plan.name = fmt::format("floor {}", i);
      plan.content_bytes = 2 + i;  // makes them different servers
      contest.entrants.push_back({.server = plan, .load = {.duration = std::chrono::seconds(1)}});
    }
    return contest;
  }

  ContestResult run(const Contest& contest, Clock::time_point deadline = kNoDeadline) {
    Stage stage({.server = {}, .load = {}});
    stage.prepare(contest);
    return stage.run(contest, deadline, [](const std::string&) {});
  }

 private:
  TemporaryDirectory directory_;
  std::string path_;
};

std::string answer(int requests, int status, int timeout) {
  return fmt::format(
      "echo lab: requests={} duration=1000000 p50=10 p99=20 p999=30 max=40 connect=0 read=0 "
      "write=0 "
      "status={} timeout={}",
      requests, status, timeout);
}

const std::string kGood = answer(1000, 0, 0);

TEST_F(ContestTest, RoundsAreInterleaved) {
  script_wrk({kGood});
  const ContestResult result = run(contest(3, 2));
  const auto ports = calls();
  ASSERT_EQ(ports.size(), 6U);
  EXPECT_NE(ports[0], ports[1]);
  for (std::size_t i = 2; i < ports.size(); ++i) EXPECT_EQ(ports[i], ports[i - 2]);
  ASSERT_EQ(result.rows.size(), 2U);
  EXPECT_EQ(result.rows[1].name, "floor 1");
  EXPECT_EQ(result.rows[1].rounds.size(), 3U);
  EXPECT_DOUBLE_EQ(summarize(values_of(result.rows[0], Metric::kRequestsPerSecond))->median, 1000);
}

TEST_F(ContestTest, AVoidRunIsRepeated) {
  script_wrk({answer(1000, 7, 0), answer(1000, 0, 1), kGood});
  const ContestResult result = run(contest(1));
  EXPECT_FALSE(result.rows[0].is_void());
  EXPECT_EQ(result.rows[0].voids,
            (std::vector<std::string>{"7 answers were not 2xx", "1 socket errors"}));
  EXPECT_NE(table_of(result).find("a run was void (7 answers were not 2xx) and was repeated"),
            std::string::npos);
}

TEST_F(ContestTest, ARoundThatStaysVoidMakesTheRowVoid) {
  script_wrk({kGood, answer(0, 0, 0)});
  const ContestResult result = run(contest(2));
  EXPECT_EQ(calls().size(), 4U) << "one good run, and one with two repetitions";
  EXPECT_TRUE(result.rows[0].is_void());
  EXPECT_NE(table_of(result).find("void"), std::string::npos);
}

TEST_F(ContestTest, AClientThatFailsMakesTheRunVoid) {
  script_wrk({"echo unable to connect >&2; exit 1"});
  const ContestResult result = run(contest(1));
  EXPECT_TRUE(result.rows[0].is_void());
  EXPECT_NE(result.rows[0].voids.at(0).find("unable to connect"), std::string::npos);
}

TEST_F(ContestTest, RoundsEndBeforeTheDeadline) {
  script_wrk({"sleep 0.6; " + kGood});
  const ContestResult result = run(contest(5), Clock::now() + std::chrono::milliseconds(2500));
  EXPECT_GE(result.rows[0].rounds.size(), 1U);
  EXPECT_LT(result.rows[0].rounds.size(), 5U);
  EXPECT_TRUE(run(contest(5), Clock::now()).rows.empty());
}

TEST_F(ContestTest, ReportsHaveEveryRowAndRound) {
  script_wrk({kGood});
  BenchReport report{
      .command = "leantea-lab bench", .machine = describe_machine(), .rounds = 2, .seconds = 1};
  report.contests.push_back(run(contest(2)));
  const std::string json = json_of(report);
  EXPECT_NE(json.find("\"server\": \"floor 0\""), std::string::npos);
  EXPECT_NE(json.find("\"requests\": 1000"), std::string::npos);
  const std::string markdown = markdown_of(report);
  EXPECT_NE(markdown.find("`leantea-lab bench`"), std::string::npos);
  EXPECT_NE(markdown.find("| test | floor 0 | 1000 |"), std::string::npos) << markdown;
}

Row row_with(double client_share, double client_core, double server_share) {
  Sample sample;
  sample.load_share = client_share;
  sample.load_core_busy = client_core;
  sample.server_share = server_share;
  return {.name = "x", .load = {}, .rounds = {sample}, .voids = {}};
}

TEST(LimitedByClient, IsSaidOnlyWhenTheClientItselfFillsItsCore) {
  EXPECT_TRUE(limited_by_client(row_with(0.97, 0.99, 0.60)));
  EXPECT_FALSE(limited_by_client(row_with(0.97, 0.99, 0.97))) << "both are full";
  EXPECT_FALSE(limited_by_client(row_with(0.50, 0.60, 0.97)));
  EXPECT_FALSE(limited_by_client(row_with(0.10, 1.00, 0.10))) << "other programs fill the core";
}

}  // namespace
}  // namespace leantea::lab

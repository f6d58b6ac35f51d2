// The whole program, interrupted while it measures.
#include "interrupt.hpp"

#include <csignal>
#include <string>

#include <gtest/gtest.h>

#include "process.hpp"
#include "servers.hpp"

namespace leantea::lab {
namespace {

using std::chrono::seconds;

/// Waits until server and load generator run; their process ids.
std::vector<pid_t> started_by(const Process& lab) {
  std::vector<pid_t> started;
  for (const auto deadline = Clock::now() + seconds(20); Clock::now() < deadline;
       pause_for(std::chrono::milliseconds(20))) {
    started = descendants(lab.pid());
    if (started.size() >= 2) break;
  }
  return started;
}

class Interrupting : public testing::TestWithParam<int> {};

TEST_P(Interrupting, LeavesNothingBehind) {
  if (find_program("wrk").empty()) GTEST_SKIP() << "wrk is not installed";
  Process lab(
      {.words = {program_directory() + "/leantea-lab", "bench", "--servers", "floor", "--blocks",
                 "3", "--duration", "10", "--connections", "4", "--scenarios", "health"},
       .cpus = {}});
  const std::vector<pid_t> started = started_by(lab);
  ASSERT_GE(started.size(), 2U) << lab.output() << lab.errors();
  ::kill(lab.pid(), GetParam());
  const auto exit = lab.wait_until(Clock::now() + seconds(10));
  ASSERT_TRUE(exit) << "it did not end";
  EXPECT_EQ(exit->code, 128 + GetParam());
  for (const pid_t pid : started) EXPECT_NE(::kill(pid, 0), 0) << pid;
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupting, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST(WaitReadable, EndsAtTheDeadline) {
  const auto start = Clock::now();
  EXPECT_FALSE(wait_readable(-1, start + std::chrono::milliseconds(30)));
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(30));
}

}  // namespace
}  // namespace leantea::lab

#include "process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "failure.hpp"
#include "interrupt.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Command shell(const std::string& script) { return {.words = {"sh", "-c", script}, .cpus = {}}; }

/// True when no process with this id runs (a zombie does not run).
bool gone(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  if (!std::getline(file, line)) return true;
  return line.find(") Z ") != std::string::npos;
}

bool gone_within(pid_t pid, milliseconds time) {
  const auto deadline = Clock::now() + time;
  while (!gone(pid) && Clock::now() < deadline) std::this_thread::sleep_for(milliseconds(5));
  return gone(pid);
}

/// Waits until the program has printed `count` words, which are process ids.
std::vector<pid_t> printed_pids(const Process& process, std::size_t count) {
  for (const auto deadline = Clock::now() + seconds(10); Clock::now() < deadline;) {
    const std::string output = process.output();
    const auto words = words_of(output);
    if (words.size() >= count && output.ends_with('\n')) {
      std::vector<pid_t> pids;
      for (const std::string_view word : words) pids.push_back(number_or<pid_t>(word, -1));
      return pids;
    }
    std::this_thread::sleep_for(milliseconds(5));
  }
  return {};
}

TEST(Process, GivesOutputErrorsAndExitCode) {
  Process process(shell("echo out; echo err >&2; exit 7"));
  const auto exit = process.wait_until(Clock::now() + seconds(10));
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 7);
  EXPECT_EQ(process.output(), "out\n");
  EXPECT_EQ(process.errors(), "err\n");
}

TEST(Process, WaitingEndsAtTheDeadline) {
  Process process(shell("exec sleep 100"));
  EXPECT_FALSE(process.wait_until(Clock::now() + milliseconds(20)));
}

TEST(Process, AMissingProgramIsAFailureThatNamesIt) {
  try {
    Process process({.words = {"no-such-program-here"}, .cpus = {}});
    FAIL() << "it started";
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("no-such-program-here"), std::string::npos);
    EXPECT_EQ(failure.exit_code(), kExitUsage);
  }
}

TEST(Process, NothingIsLeftAtTheEndOfTheScope) {
  std::vector<pid_t> pids;
  {
    const Process process(shell("sleep 100 & echo $$ $!; wait"));
    pids = printed_pids(process, 2);
    ASSERT_EQ(pids.size(), 2U);
    EXPECT_FALSE(gone(pids[1]));
  }
  for (const pid_t pid : pids) EXPECT_TRUE(gone(pid)) << pid;
}

TEST(Process, NothingIsLeftOfAProgramThatIgnoresTheSignal) {
  std::vector<pid_t> pids;
  {
    Process process(
        shell("trap '' TERM; (trap '' TERM; exec sleep 100) & echo $$ $!; wait; exec sleep 100"));
    pids = printed_pids(process, 2);
    ASSERT_EQ(pids.size(), 2U);
    process.stop(milliseconds(50));
  }
  for (const pid_t pid : pids) EXPECT_TRUE(gone(pid)) << pid;
}

TEST(Process, APausedProgramRestsAndIsStoppedAtTheEndAllTheSame) {
  const auto start = Clock::now();
  {
    Process busy({.words = {"sh", "-c", "while :; do :; done"}, .cpus = {}});
    busy.pause();
    pause_for(std::chrono::milliseconds(20));
    const auto before = busy.cpu().spent;
    pause_for(std::chrono::milliseconds(50));
    EXPECT_EQ(busy.cpu().spent, before);
    busy.resume();
    pause_for(std::chrono::milliseconds(50));
    EXPECT_GT(busy.cpu().spent, before);
    busy.pause();
  }
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(2)) << "it was not woken to end";
}

TEST(Process, ChildrenThatOutliveTheProgramAreStopped) {
  Process process(shell("sleep 100 & echo $$ $!"));
  const auto pids = printed_pids(process, 2);
  ASSERT_EQ(pids.size(), 2U);
  ASSERT_TRUE(process.wait_until(Clock::now() + seconds(10)));
  EXPECT_TRUE(gone_within(pids[1], seconds(2)));
}

TEST(Process, NothingIsLeftWhenAnExceptionLeavesTheScope) {
  std::vector<pid_t> pids;
  try {
    const Process process(shell("echo $$; exec sleep 100"));
    pids = printed_pids(process, 1);
    throw Interrupted(SIGINT);
  } catch (const Interrupted&) {
    ASSERT_EQ(pids.size(), 1U);
    EXPECT_TRUE(gone(pids[0]));
  }
}

TEST(Process, NothingIsLeftWhenTheLabIsKilled) {
  // A lab in a child: it starts a program, says which, and is killed without a chance to clean up.
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t lab = ::fork();
  ASSERT_GE(lab, 0);
  if (lab == 0) {
    const Process process(shell("exec sleep 100"));
    const pid_t pid = process.pid();
    // Wait until the program itself runs: before that, the death of its parent is asked for, not yet arranged.
    for (std::string name; name != "sleep"; std::this_thread::sleep_for(milliseconds(2))) {
      std::ifstream file(fmt::format("/proc/{}/comm", pid));
      std::getline(file, name);
    }
    if (::write(pipe_ends[1], &pid, sizeof pid) < 0) ::_exit(1);
    for (;;) ::pause();
  }
  pid_t program = -1;
  ASSERT_EQ(::read(pipe_ends[0], &program, sizeof program), static_cast<ssize_t>(sizeof program));
  EXPECT_FALSE(gone(program));
  ::kill(lab, SIGKILL);
  ::waitpid(lab, nullptr, 0);
  EXPECT_TRUE(gone_within(program, seconds(2)));
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

TEST(Process, CountsTheProcessorTimeOfTheWholeGroup) {
  // Two loops in two processes; the shell itself only waits.
  Process process(shell("(while :; do :; done) & (while :; do :; done) & echo $! started; wait"));
  ASSERT_EQ(printed_pids(process, 2).size(), 2U);
  const CpuTime before = process.cpu();
  std::this_thread::sleep_for(milliseconds(200));
  const CpuTime after = process.cpu();
  EXPECT_EQ(process.group().size(), 3U);
  EXPECT_GT(after.spent - before.spent, milliseconds(1));
}

TEST(Process, TellsTheTimeAProgramHasUsedWhenItEnds) {
  Process process(shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"));
  const auto exit = process.wait_until(Clock::now() + seconds(30));
  ASSERT_TRUE(exit);
  EXPECT_GT(exit->cpu, milliseconds(1));
}

TEST(Process, RunsOnTheCoresItIsGiven) {
  Process process({.words = {"sh", "-c", "grep Cpus_allowed_list /proc/self/status"}, .cpus = {0}});
  ASSERT_TRUE(process.wait_until(Clock::now() + seconds(10)));
  EXPECT_EQ(words_of(process.output()).back(), "0");
}

TEST(Process, DoesNotPassOnVariablesOfLeanTea) {
  ::setenv("LEANTEA_HTTP_BACKEND", "threads", 1);
  Process process(shell("echo \"${LEANTEA_HTTP_BACKEND-unset}\""));
  ::unsetenv("LEANTEA_HTTP_BACKEND");
  ASSERT_TRUE(process.wait_until(Clock::now() + seconds(10)));
  EXPECT_EQ(process.output(), "unset\n");
}

TEST(Process, ATracersChildrenCanBeEndedAlone) {
  Process process(shell("sleep 100 & echo $!; wait; echo reported"));
  ASSERT_EQ(printed_pids(process, 1).size(), 1U);
  process.terminate_children();
  const auto exit = process.wait_until(Clock::now() + seconds(10));
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 0);
  EXPECT_NE(process.output().find("reported"), std::string::npos);
}

TEST(CpuTime, GrowsWithWork) {
  const CpuTime before = cpu_time(::getpid());
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < 5'000'000; ++i) sum = sum + i;
  EXPECT_GT(cpu_time(::getpid()).spent, before.spent);
}

TEST(Memory, IsReadOfTheGroup) {
  const Process process(shell("echo $$; exec sleep 100"));
  ASSERT_EQ(printed_pids(process, 1).size(), 1U);
  const Memory memory = process.memory();
  EXPECT_GT(memory.resident, 0U);
  EXPECT_LE(memory.anonymous, memory.resident);
}

TEST(FindProgram, LooksWhereTheSystemKeepsItsOwn) {
  EXPECT_FALSE(find_program("sh").empty());
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_EQ(find_program("no-such-program-here"), "");
  EXPECT_EQ(find_program("/etc"), "");
}

TEST(RequireProgram, NamesTheDebianPackage) {
  try {
    require_program("no-such-program-here", "the-package");
    FAIL() << "it is there";
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("apt-get install the-package"), std::string::npos);
    EXPECT_EQ(failure.exit_code(), kExitUsage);
  }
}

}  // namespace
}  // namespace leantea::lab

// Programs that the lab starts, what they cost, and that they end.
//
// A Process owns one program and everything that program starts: they form a process group. Whatever way the
// lab ends, nothing of it is left:
//   1. the destructor asks the group to end (SIGTERM), and kills it when it does not;
//   2. Ctrl-C and SIGTERM are exceptions in the lab (interrupt.hpp), so they come to the destructors too;
//   3. when the lab itself is killed, the kernel sends the program SIGTERM (PR_SET_PDEATHSIG).
// Only process ids of the lab's own children are ever signalled.
//
// Main thread only.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "descriptor.hpp"

namespace leantea::lab {

/// What to start, and with what. Variables of the environment that begin with LEANTEA_ are not passed on: what is
/// measured is said by the command alone.
struct Command {
  std::vector<std::string> words;  ///< the program (found as find_program does) and its arguments
  std::vector<int> cpus;           ///< cores it may run on; empty: all that the lab may use
  std::uint64_t descriptors = 0;   ///< limit of open descriptors, as far as allowed; 0: unchanged
};

/// How a program ended.
struct Exit {
  int code = 0;                    ///< exit code, or 128 + signal
  std::chrono::nanoseconds cpu{};  ///< processor time that it and its children used in all
};

/// The clock that processor time was read from, best first.
enum class CpuSource {
  kProcessClock,  ///< the process's CPU clock: nanoseconds, all threads, also those that have ended
  kSchedstat,     ///< sum of /proc/PID/task/*/schedstat: nanoseconds, living threads
  kStat,          ///< utime + stime of /proc/PID/stat: clock ticks, usually 10 ms
};

/// One line about a source, for reports.
std::string_view describe(CpuSource source);

struct CpuTime {
  std::chrono::nanoseconds spent{};
  CpuSource source = CpuSource::kProcessClock;
};

/// Processor time used so far by process `pid`, all its threads. Zero when it does not exist.
CpuTime cpu_time(pid_t pid);

/// The sum over `pids`.
CpuTime cpu_time(const std::vector<pid_t>& pids);

/// Memory in bytes. `anonymous` is RssAnon, `proportional` is PSS (0 where /proc/PID/smaps_rollup may not be read).
struct Memory {
  std::uint64_t resident = 0;
  std::uint64_t anonymous = 0;
  std::uint64_t proportional = 0;
};

/// The sum over `pids`.
Memory memory_of(const std::vector<pid_t>& pids);

class Process {
 public:
  /// Starts `command`. Throws Failure when the program is not found or cannot be started.
  explicit Process(const Command& command);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) = delete;
  ~Process();

  pid_t pid() const noexcept { return pid_; }

  /// What it has written to its standard output and error output so far.
  std::string output() const;
  std::string errors() const;

  /// Waits for the end until `deadline`: how it ended, or nothing. Throws Interrupted.
  std::optional<Exit> wait_until(std::chrono::steady_clock::time_point deadline);

  /// Ends the whole group, at latest after `grace` by SIGKILL, and waits for that. Not interrupted by signals.
  void stop(std::chrono::milliseconds grace = std::chrono::seconds(3)) noexcept;

  /// Sends SIGINT to the first thread of the started program alone; nothing when it has ended.
  void interrupt() const noexcept;

  /// Stops the started program where it is, and lets it go on. Should the lab end meanwhile, the
  /// kernel wakes the program and hangs it up, as its process group then has no parent any more.
  void pause() const noexcept;
  void resume() const noexcept;

  /// Sends SIGTERM to the processes of the group whose parent is the started program, not to that program: ends a
  /// server that runs under a tracer, and leaves the tracer to write its report.
  void terminate_children() const;

  /// The processes of the group that live: the program and, for example, its workers.
  std::vector<pid_t> group() const;

  /// Sum over the group.
  CpuTime cpu() const { return cpu_time(group()); }
  Memory memory() const { return memory_of(group()); }

 private:
  bool ended(std::chrono::milliseconds within) const noexcept;
  void signal(int number) const noexcept;
  Exit collect() noexcept;

  pid_t pid_ = -1;
  std::string name_;
  Descriptor handle_;  // pidfd: readable when the program has ended
  Descriptor output_;
  Descriptor errors_;
  std::optional<Exit> exit_;
};

/// The processes below `pid`: its children, their children, and so on.
std::vector<pid_t> descendants(pid_t pid);

/// The path of a program: `name` itself when it holds a slash, else the first match in $PATH and then the folders
/// of system programs, which $PATH leaves out for ordinary users. Empty when there is none.
std::string find_program(std::string_view name);

/// Throws a Failure (exit code 2) that names the Debian package when the program is not installed.
std::string require_program(std::string_view name, std::string_view debian_package);

/// Starts a program, waits for its end and gives what it wrote to both outputs; nothing when it could not be run.
std::optional<std::string> output_of(const std::vector<std::string>& words);

/// Adopts the orphans of what the lab starts, so that they can be waited for. Called once at the start of main().
void adopt_orphans();

/// Raises the lab's own limit of open descriptors towards `wanted`, as far as allowed; the limit that now holds.
std::uint64_t raise_descriptor_limit(std::uint64_t wanted);

/// The lab starts each program through itself: `leantea-lab --launch …` puts the core, the limits and the
/// signal at the lab's death in place and then becomes the program. To be called first in main(); returns
/// nothing when the arguments are not those, and an exit code when the program could not be started.
std::optional<int> launch_if_asked(int argc, char** argv);

}  // namespace leantea::lab

#include "process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "failure.hpp"
#include "interrupt.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::string_view kLaunch = "--launch";
constexpr milliseconds kGroupGrace{2000};  // for orphans of a killed group to be reaped

/// glibc 2.36 declares pidfd_open in a header that C++ cannot link with.
int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

std::string read_whole(int fd) {
  std::string text;
  std::array<char, 16384> block{};
  for (;;) {
    const ssize_t got = ::pread(fd, block.data(), block.size(), static_cast<off_t>(text.size()));
    if (got <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

Descriptor memory_file(const char* name) {
  Descriptor file(::memfd_create(name, MFD_CLOEXEC));
  if (!file.valid()) throw std::system_error(errno, std::generic_category(), "memfd_create");
  return file;
}

// ---- Starting ----

/// The environment of a started program.
std::vector<char*> clean_environment() {
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("LEANTEA_")) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

std::string join_numbers(const std::vector<int>& numbers) {
  return numbers.empty() ? "-" : fmt::format("{}", fmt::join(numbers, ","));
}

std::vector<std::string> launch_words(const Command& command, const std::string& program) {
  std::vector<std::string> words{"leantea-lab",
                                 std::string(kLaunch),
                                 std::to_string(::getpid()),
                                 join_numbers(command.cpus),
                                 std::to_string(command.descriptors),
                                 program};
  words.insert(words.end(), command.words.begin(), command.words.end());
  return words;
}

/// Attributes and file actions of posix_spawn, freed at the end of the scope.
class SpawnSettings {
 public:
  SpawnSettings(int output, int errors) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&actions_);
  }

  pid_t spawn(std::vector<std::string> words) const {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::vector<char*> variables = clean_environment();
    pid_t pid = -1;
    const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions_, &attributes_,
                                    arguments.data(), variables.data());
    if (error != 0)
      throw Failure(fmt::format("cannot start {}: {}", words.back(), std::strerror(error)));
    return pid;
  }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

void use_cpus(std::string_view list) {
  if (list == "-") return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::string_view cpu : split(list, ','))
    CPU_SET(static_cast<std::size_t>(number_or<int>(cpu, 0)), &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    fmt::print(stderr, "leantea-lab: cannot use core {}: {}\n", list, std::strerror(errno));
  }
}

std::uint64_t raise_limit(std::uint64_t wanted) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= wanted) return limit.rlim_cur;
  rlimit raised = limit;
  raised.rlim_cur = wanted;
  raised.rlim_max = std::max<rlim_t>(limit.rlim_max, wanted);
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return raised.rlim_cur;
  raised.rlim_max = limit.rlim_max;  // not allowed to go beyond the hard limit: go as far as that
  raised.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return raised.rlim_cur;
  return limit.rlim_cur;
}

// ---- Reading /proc ----

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Fields of /proc/PID/stat behind the program's name, which may itself hold spaces and parentheses: `state` is
/// first.
std::vector<std::string> stat_fields(pid_t pid) {
  const std::string text = read_file(fmt::format("/proc/{}/stat", pid));
  const std::size_t end = text.rfind(')');
  if (end == std::string::npos) return {};
  std::vector<std::string> fields;
  std::istringstream rest(text.substr(end + 1));
  for (std::string field; rest >> field;) fields.push_back(field);
  return fields;
}

// Positions in stat_fields (proc(5) counts from 1 and has two fields before `state`).
constexpr std::size_t kParent = 1;
constexpr std::size_t kGroup = 2;
constexpr std::size_t kUserTicks = 11;
constexpr std::size_t kSystemTicks = 12;

/// Calls `visit(pid, fields)` for each process that exists.
template <typename Visit>
void each_process(Visit visit) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const auto pid = number_or<pid_t>(entry.path().filename().string(), 0);
    if (pid <= 0) continue;
    const std::vector<std::string> fields = stat_fields(pid);
    if (fields.size() > kSystemTicks) visit(pid, fields);
  }
}

std::optional<nanoseconds> process_clock(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
    return std::nullopt;
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

std::optional<nanoseconds> schedstat(pid_t pid) {
  nanoseconds sum{};
  bool found = false;
  std::error_code error;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
    std::istringstream text(read_file(task.path().string() + "/schedstat"));
    std::int64_t on_cpu = 0;
    if (!(text >> on_cpu)) continue;
    sum += nanoseconds(on_cpu);
    found = true;
  }
  return found ? std::optional(sum) : std::nullopt;
}

nanoseconds stat_ticks(pid_t pid) {
  const std::vector<std::string> fields = stat_fields(pid);
  if (fields.size() <= kSystemTicks) return {};
  const auto ticks = number_or<std::int64_t>(fields[kUserTicks], 0) +
                     number_or<std::int64_t>(fields[kSystemTicks], 0);
  return nanoseconds(ticks * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
}

/// The value in bytes of a line like `RssAnon:     1234 kB`.
std::uint64_t kilobytes_of(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    const std::string_view value = trimmed(line.substr(name.size()));
    return number_or<std::uint64_t>(value.substr(0, value.find(' ')), 0) * 1024;
  }
  return 0;
}

Exit exit_from(int status, const rusage& usage) {
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .cpu = of(usage.ru_utime) + of(usage.ru_stime)};
}

}  // namespace

// ---- Process ----

Process::Process(const Command& command)
    : name_(command.words.at(0)), output_(memory_file("output")), errors_(memory_file("errors")) {
  const std::string program = find_program(name_);
  if (program.empty()) throw Failure(fmt::format("{}: no such program", name_), kExitUsage);
  pid_ = SpawnSettings(output_.get(), errors_.get()).spawn(launch_words(command, program));
  handle_ = Descriptor(open_pidfd(pid_));
  if (!handle_.valid()) {
    const int error = errno;
    stop(milliseconds(0));
    throw Failure(
        fmt::format("pidfd_open: {} (the lab needs Linux 5.3 or newer)", std::strerror(error)));
  }
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      name_(std::move(other.name_)),
      handle_(std::move(other.handle_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      exit_(other.exit_) {}

Process::~Process() { stop(); }

std::string Process::output() const { return read_whole(output_.get()); }
std::string Process::errors() const { return read_whole(errors_.get()); }

std::optional<Exit> Process::wait_until(std::chrono::steady_clock::time_point deadline) {
  if (!exit_ && wait_readable(handle_.get(), deadline)) collect();
  return exit_;
}

void Process::stop(milliseconds grace) noexcept {
  if (pid_ < 0 || exit_) return;
  ::kill(-pid_, SIGTERM);
  ::kill(-pid_, SIGCONT);  // one that is paused would not notice
  ended(grace);
  collect();
}

void Process::signal(int number) const noexcept {
  if (!exit_ && !ended(std::chrono::milliseconds(0))) ::kill(pid_, number);
}

void Process::interrupt() const noexcept {
  // To its first thread, which waits for the end, and not to whichever thread the kernel chooses.
  if (!exit_ && !ended(std::chrono::milliseconds(0))) ::syscall(SYS_tgkill, pid_, pid_, SIGINT);
}
void Process::pause() const noexcept { signal(SIGSTOP); }
void Process::resume() const noexcept { signal(SIGCONT); }

void Process::terminate_children() const {
  each_process([this](pid_t pid, const std::vector<std::string>& fields) {
    const bool ours =
        number_or<pid_t>(fields[kGroup], 0) == pid_ && number_or<pid_t>(fields[kParent], 0) == pid_;
    if (ours) ::kill(pid, SIGTERM);
  });
}

std::vector<pid_t> Process::group() const {
  std::vector<pid_t> members;
  each_process([&](pid_t pid, const std::vector<std::string>& fields) {
    if (number_or<pid_t>(fields[kGroup], 0) == pid_ && fields[0] != "Z") members.push_back(pid);
  });
  return members;
}

/// Waits, without listening to signals: this is the way out.
bool Process::ended(milliseconds within) const noexcept {
  const auto deadline = Clock::now() + within;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    pollfd watched{.fd = handle_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&watched, 1, static_cast<int>(std::max(left, milliseconds(0)).count())) > 0)
      return true;
    if (Clock::now() >= deadline) return false;
  }
}

/// Kills what is left of the group, then reaps it. The program is reaped after the kill: until then its process
/// id, which is the group's, cannot be given to anyone else.
Exit Process::collect() noexcept {
  ::kill(-pid_, SIGKILL);
  int status = 0;
  rusage usage{};
  while (::wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  exit_ = exit_from(status, usage);
  const auto deadline = Clock::now() + kGroupGrace;
  while (::kill(-pid_, 0) == 0 && Clock::now() < deadline) {
    while (::waitpid(-pid_, nullptr, WNOHANG) > 0) {
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  return *exit_;
}

// ---- Functions ----

std::string_view describe(CpuSource source) {
  switch (source) {
    case CpuSource::kProcessClock:
      return "the processes' CPU clocks (ns, user and system time of all threads)";
    case CpuSource::kSchedstat:
      return "/proc/PID/task/*/schedstat (ns, user and system time of the threads that live)";
    case CpuSource::kStat:
      return "utime + stime of /proc/PID/stat (clock ticks, usually 10 ms)";
  }
  return "";
}

CpuTime cpu_time(pid_t pid) {
  if (const auto time = process_clock(pid))
    return {.spent = *time, .source = CpuSource::kProcessClock};
  if (const auto time = schedstat(pid)) return {.spent = *time, .source = CpuSource::kSchedstat};
  return {.spent = stat_ticks(pid), .source = CpuSource::kStat};
}

CpuTime cpu_time(const std::vector<pid_t>& pids) {
  CpuTime sum;
  for (const pid_t pid : pids) {
    const CpuTime one = cpu_time(pid);
    sum.spent += one.spent;
    sum.source = std::max(sum.source, one.source);
  }
  return sum;
}

Memory memory_of(const std::vector<pid_t>& pids) {
  Memory sum;
  for (const pid_t pid : pids) {
    const std::string status = read_file(fmt::format("/proc/{}/status", pid));
    sum.resident += kilobytes_of(status, "VmRSS:");
    sum.anonymous += kilobytes_of(status, "RssAnon:");
    sum.proportional += kilobytes_of(read_file(fmt::format("/proc/{}/smaps_rollup", pid)), "Pss:");
  }
  return sum;
}

std::vector<pid_t> descendants(pid_t pid) {
  std::multimap<pid_t, pid_t> children;
  each_process([&](pid_t child, const std::vector<std::string>& fields) {
    children.emplace(number_or<pid_t>(fields[kParent], 0), child);
  });
  std::vector<pid_t> found{pid};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [first, last] = children.equal_range(found[i]);
    for (auto child = first; child != last; ++child) found.push_back(child->second);
  }
  found.erase(found.begin());
  return found;
}

std::string find_program(std::string_view name) {
  const auto executable = [](const std::string& path) {
    struct stat status{};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string_view::npos)
    return executable(std::string(name)) ? std::string(name) : "";
  const char* path = std::getenv("PATH");
  const std::string folders =
      std::string(path == nullptr ? "" : path) + ":/usr/local/sbin:/usr/sbin:/sbin";
  for (const std::string_view folder : split(folders, ':')) {
    if (folder.empty()) continue;
    std::string candidate = fmt::format("{}/{}", folder, name);
    if (executable(candidate)) return candidate;
  }
  return "";
}

std::string require_program(std::string_view name, std::string_view debian_package) {
  std::string path = find_program(name);
  if (path.empty()) {
    throw Failure(
        fmt::format("{} is not installed; on Debian: apt-get install {}", name, debian_package),
        kExitUsage);
  }
  return path;
}

std::optional<std::string> output_of(const std::vector<std::string>& words) {
  if (find_program(words.at(0)).empty()) return std::nullopt;
  Process process({.words = words});
  if (!process.wait_until(Clock::now() + std::chrono::seconds(10))) return std::nullopt;
  return process.output() + process.errors();
}

void adopt_orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); }

std::uint64_t raise_descriptor_limit(std::uint64_t wanted) { return raise_limit(wanted); }

std::optional<int> launch_if_asked(int argc, char** argv) {
  // --launch <lab's process id> <cores> <descriptors> <program> <name> <arguments…>
  if (argc < 7 || argv[1] != kLaunch) return std::nullopt;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  // The lab may have died before the line above: then there is nobody left to work for.
  if (::getppid() != number_or<pid_t>(argv[2], 0)) return kExitFailure;
  use_cpus(argv[3]);
  if (const auto descriptors = number_or<std::uint64_t>(argv[4], 0); descriptors > 0)
    raise_limit(descriptors);
  ::execv(argv[5], argv + 6);
  fmt::print(stderr, "cannot start {}: {}\n", argv[5], std::strerror(errno));
  return 127;
}

}  // namespace leantea::lab

#include "machine.hpp"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "failure.hpp"
#include "process.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

/// The value behind `name` and `separator` in a file of such lines, without quotes; empty when it is not there.
std::string value_in(const char* path, std::string_view name, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(separator);
    if (at == std::string::npos || trimmed(std::string_view(line).substr(0, at)) != name) continue;
    std::string value(trimmed(std::string_view(line).substr(at + 1)));
    std::erase(value, '"');
    return value;
  }
  return "";
}

/// The hyper-threads of the core that `cpu` belongs to, itself among them.
std::vector<int> siblings(int cpu) {
  std::ifstream file(
      fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
  std::string text;
  std::getline(file, text);
  std::vector<int> all{cpu};
  for (const std::string_view range : split(text, ',')) {
    const int first = number_or<int>(range, cpu);
    const std::size_t dash = range.find('-');
    const int last =
        dash == std::string_view::npos ? first : number_or<int>(range.substr(dash + 1), first);
    for (int i = first; i <= last; ++i) all.push_back(i);
  }
  return all;
}

bool holds(const std::vector<int>& list, int value) {
  return std::ranges::find(list, value) != list.end();
}

/// The kernel's counter-measures against faults of the processor: some cost a lot for each system call.
std::vector<Version> mitigations() {
  std::vector<Version> all;
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator("/sys/devices/system/cpu/vulnerabilities", none)) {
    std::string text;
    std::ifstream file(entry.path());
    std::getline(file, text);
    if (text.empty() || text == "Not affected") continue;
    all.push_back({.program = entry.path().filename().string(), .text = text});
  }
  std::ranges::sort(all, {}, &Version::program);
  return all;
}

std::uint64_t memory_mib() {
  constexpr std::uint64_t kKibPerMib = 1024;
  return number_or<std::uint64_t>(value_in("/proc/meminfo", "MemTotal", ':'), 0) / kKibPerMib;
}

std::string compiler_name() {
#if defined(__clang__)
  return fmt::format("Clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("GCC {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

bool Placement::overlaps() const {
  return std::ranges::any_of(server, [this](int cpu) { return holds(load, cpu); });
}

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void require_cpus(std::string_view flag, const std::vector<int>& wanted,
                  const std::vector<int>& usable) {
  for (const int cpu : wanted) {
    if (!holds(usable, cpu)) {
      throw Failure(fmt::format("{}: there is no core {} to use; there are {}", flag, cpu,
                                fmt::join(usable, ",")),
                    kExitUsage);
    }
  }
}

Placement place(const std::vector<int>& usable, int workers) {
  const auto count =
      std::clamp<std::size_t>(static_cast<std::size_t>(std::max(workers, 1)), 1, usable.size());
  const auto first_of_server = usable.end() - static_cast<std::ptrdiff_t>(count);
  Placement placement{.server = {first_of_server, usable.end()}, .load = {}};
  std::vector<int> close;  // hyper-threads of the server's cores
  for (const int cpu : placement.server) {
    for (const int sibling : siblings(cpu)) close.push_back(sibling);
  }
  for (auto cpu = usable.begin(); cpu != first_of_server && placement.load.empty(); ++cpu) {
    if (!holds(close, *cpu)) placement.load = {*cpu};
  }
  if (placement.load.empty() && first_of_server != usable.begin())
    placement.load = {usable.front()};
  if (placement.load.empty()) placement.load = placement.server;
  return placement;
}

CoreTime core_time(const std::vector<int>& cpus) {
  CoreTime sum;
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("cpu") || line.size() < 4 || line[3] == ' ') continue;
    std::istringstream text(line.substr(3));
    int cpu = 0;
    double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
    text >> cpu >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal;
    if (!holds(cpus, cpu)) continue;
    sum.busy += user + nice + system + irq + softirq + steal;
    sum.idle += idle + iowait;
    sum.stolen += steal;
  }
  return sum;
}

double busy_share(const CoreTime& before, const CoreTime& after) {
  const double busy = after.busy - before.busy;
  const double all = busy + after.idle - before.idle;
  return all > 0 ? busy / all : 0;
}

double stolen_share(const CoreTime& before, const CoreTime& after) {
  const double all = after.busy - before.busy + after.idle - before.idle;
  return all > 0 ? (after.stolen - before.stolen) / all : 0;
}

Machine describe_machine() {
  Machine machine;
  machine.processor = value_in("/proc/cpuinfo", "model name", ':');
  if (machine.processor.empty()) machine.processor = "unknown processor";
  machine.cores = usable_cpus().size();
  utsname name{};
  if (::uname(&name) == 0)
    machine.kernel = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  machine.system = value_in("/etc/os-release", "PRETTY_NAME", '=');
  machine.compiler = compiler_name();
  machine.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  machine.memory_mib = memory_mib();
  machine.mitigations = mitigations();
  return machine;
}

std::string in_one_line(const Machine& machine) {
  return fmt::format("{}, {} {}, {}, {}", machine.processor, machine.cores,
                     machine.cores == 1 ? "core" : "cores", machine.kernel, machine.system);
}

Version version_of(const std::string& program, const std::string& flag) {
  const std::string text = output_of({program, flag}).value_or("");
  for (const std::string_view word : words_of(text)) {
    if (word.find_first_of("0123456789") != std::string_view::npos)
      return {.program = program, .text = std::string(word)};
  }
  return {.program = program, .text = "unknown"};
}

}  // namespace leantea::lab

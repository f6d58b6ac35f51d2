#include "confinement.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

namespace leantea::lab {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRoot = "/sys/fs/cgroup";
constexpr int kPeriodMicros = 10'000;  // short, so that a server's pause is no longer than a few ms

bool write(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text << '\n';
  return static_cast<bool>(out.flush());
}

/// The folder of this process's own group in cgroup v2; empty where there is none.
fs::path own_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    constexpr std::string_view kUnified = "0::/";
    if (line.starts_with(kUnified)) return fs::path(kRoot) / line.substr(kUnified.size());
  }
  return {};
}

/// Makes a group with a quota and moves `processes` into it. The name of its folder; empty when that is not allowed.
std::string make_group(const std::vector<pid_t>& processes, double quota) {
  std::error_code error;
  const fs::path own = own_group();
  if (own.empty() || !fs::exists(own / "cgroup.controllers", error)) return "";
  const fs::path group = own / fmt::format("leantea-lab-{}", ::getpid());
  if (!fs::create_directory(group, error)) return "";
  const auto micros = static_cast<int>(quota * kPeriodMicros);
  bool done = write(group / "cpu.max", fmt::format("{} {}", micros, kPeriodMicros));
  for (const pid_t pid : processes)
    done = done && write(group / "cgroup.procs", std::to_string(pid));
  if (done) return group.string();
  fs::remove(group, error);
  return "";
}

}  // namespace

Confinement::Confinement(const std::vector<pid_t>& processes, const std::vector<int>& cpus,
                         double share)
    : group_(make_group(processes, share * static_cast<double>(cpus.size()))) {
  if (!group_.empty()) return;
  for (const int cpu : cpus)
    rivals_.emplace_back(Command{.words = {"sh", "-c", "while :; do :; done"}, .cpus = {cpu}});
}

Confinement::~Confinement() {
  if (group_.empty()) return;
  // The processes go back to where they came from; an empty group can be removed.
  const fs::path group(group_);
  std::ifstream members(group / "cgroup.procs");
  for (std::string pid; std::getline(members, pid);)
    write(group.parent_path() / "cgroup.procs", pid);
  std::error_code ignored;
  fs::remove(group, ignored);
}

}  // namespace leantea::lab

#include "listeners.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "text.hpp"

namespace leantea::lab {
namespace {

// Columns of /proc/net/tcp.
constexpr std::size_t kLocalAddress = 1;
constexpr std::size_t kState = 3;
constexpr std::size_t kInode = 9;
constexpr std::string_view kListens = "0A";

/// The links that descriptors of listening sockets are, such as `socket:[4026]`.
void add_sockets(const char* table, std::uint16_t port, std::set<std::string>& links) {
  const std::string end = fmt::format(":{:04X}", port);
  std::ifstream file(table);
  for (std::string line; std::getline(file, line);) {
    const auto columns = words_of(line);
    if (columns.size() > kInode && columns[kState] == kListens &&
        columns[kLocalAddress].ends_with(end)) {
      links.insert(fmt::format("socket:[{}]", columns[kInode]));
    }
  }
}

bool holds_one_of(const std::filesystem::path& process, const std::set<std::string>& links) {
  // Processes and their descriptors come and go meanwhile: an error is the end of the list.
  std::error_code error;
  for (std::filesystem::directory_iterator descriptor(process / "fd", error), end;
       !error && descriptor != end; descriptor.increment(error)) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(descriptor->path(), gone);
    if (!gone && links.contains(target.string())) return true;
  }
  return false;
}

}  // namespace

std::vector<pid_t> listeners_on(std::uint16_t port) {
  std::set<std::string> links;
  add_sockets("/proc/net/tcp", port, links);
  add_sockets("/proc/net/tcp6", port, links);  // a socket of :: may take IPv4 too
  std::vector<pid_t> found;
  if (links.empty()) return found;
  std::error_code error;
  for (std::filesystem::directory_iterator process("/proc", error), end; !error && process != end;
       process.increment(error)) {
    const auto pid = number_or<pid_t>(process->path().filename().string(), 0);
    if (pid > 0 && holds_one_of(process->path(), links)) found.push_back(pid);
  }
  return found;
}

}  // namespace leantea::lab

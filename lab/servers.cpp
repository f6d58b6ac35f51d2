#include "servers.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checks.hpp"
#include "descriptor.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "listeners.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::seconds kTracedStartPatience{90};  // under valgrind
constexpr milliseconds kPoll{5};
constexpr int kPortAttempts = 5;
constexpr std::uint64_t kSpareDescriptors = 1024;
constexpr std::size_t kWordsShown = 600;  // of what a server said, its end

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// A port that is free now. Someone else may take it before the server does; then another is tried.
std::uint16_t free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid())
    throw Failure("no more sockets: raise the limit of open descriptors (ulimit -n)");
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), generic, length) != 0 ||
      ::getsockname(socket.get(), generic, &length) != 0) {
    throw Failure("no free port on 127.0.0.1");
  }
  return ntohs(address.sin_port);
}

bool takes_connections(std::uint16_t port) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  return socket.valid() &&
         ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// True when a server's words say that its port is taken, in whatever language it is written.
bool says_port_in_use(std::string_view words) {
  return words.find("in use") != std::string_view::npos ||
         words.find("EADDRINUSE") != std::string_view::npos;
}

std::string user_name() {
  const passwd* user = ::getpwuid(::geteuid());
  return user == nullptr ? std::to_string(::geteuid()) : user->pw_name;
}

/// How many connections a server is told to have room for. Those of the last round may still be closing when those of
/// the next one come, and a server that makes room by closing connections that rest, as nginx does, closes those that
/// are used: with room for one round, 1,200 of 2,000 clients saw an error.
std::uint64_t room_of(const ServerPlan& plan) { return 2 * plan.connections + 64; }

std::uint64_t descriptors_of(const ServerPlan& plan) { return room_of(plan) + kSpareDescriptors; }

Placeholders values_for(const ServerPlan& plan, std::uint16_t port, const std::string& directory) {
  return {{"port", std::to_string(port)},
          {"workers", std::to_string(plan.workers)},
          {"connections", std::to_string(room_of(plan))},
          {"descriptors", std::to_string(descriptors_of(plan))},
          {"cpus", fmt::format("{}", fmt::join(plan.cpus, ","))},
          {"directory", directory},
          {"user", user_name()},
          {"health", std::string(kHealth)},
          {"json", std::string(kJson)}};
}

void write_files(const std::map<std::string, std::string>& files, const Placeholders& values,
                 const std::string& directory) {
  for (const auto& [name, text] : files) {
    const std::filesystem::path path = std::filesystem::path(directory) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path);
    out << filled(text, values);
    if (!out.flush())
      throw Failure(fmt::format("cannot write {}: is the disk full?", path.string()));
  }
}

bool takes_port(const Recipe& recipe) {
  const auto has_port = [](const std::string& text) {
    return text.find("{port}") != std::string::npos;
  };
  return std::ranges::any_of(recipe.words, has_port) ||
         std::ranges::any_of(recipe.files, [&](const auto& file) { return has_port(file.second); });
}

std::vector<std::string> ours_words(const ServerPlan& plan) {
  std::vector<std::string> words{plan.program, "--port", "0", "--host", "127.0.0.1"};
  if (!plan.backend.empty()) words.insert(words.end(), {"--backend", plan.backend});
  if (!plan.keep_alive) words.emplace_back("--no-keep-alive");
  if (plan.workers > 1) words.insert(words.end(), {"--threads", std::to_string(plan.workers)});
  return words;
}

std::vector<std::string> floor_words(const ServerPlan& plan) {
  std::vector<std::string> words{plan.program, "--port", "0", "--content-bytes",
                                 std::to_string(plan.content_bytes)};
  if (plan.floor_mode == FloorMode::kPipelined) words.emplace_back("--pipeline-aware");
  if (plan.floor_mode == FloorMode::kHttp10) words.emplace_back("--keep-alive");
  if (plan.floor_mode == FloorMode::kEcho) words.emplace_back("--body");
  if (plan.floor_mode == FloorMode::kClose) words.emplace_back("--close");
  return words;
}

Recipe recipe_for(const ServerPlan& plan) {
  switch (plan.kind) {
    case Kind::kOurs:
      return {.words = ours_words(plan), .files = {}};
    case Kind::kFloor:
      return {.words = floor_words(plan), .files = {}};
    case Kind::kPeer:
    case Kind::kCommand:
    case Kind::kUrl:
      break;
  }
  return plan.recipe;
}

Command command_for(const ServerPlan& plan, const Recipe& recipe, const Placeholders& values) {
  Command command{.words = plan.under, .cpus = plan.cpus, .descriptors = descriptors_of(plan)};
  for (const std::string& word : recipe.words) command.words.push_back(filled(word, values));
  return command;
}

}  // namespace

Server::Server(ServerPlan plan, const std::string& directory) : plan_(std::move(plan)) {
  if (plan_.kind == Kind::kUrl) {
    if (!plan_.under.empty()) {
      throw Failure(fmt::format("{} runs already and cannot be put under {}: name it by --command",
                                name(), plan_.under.front()),
                    kExitUsage);
    }
    join_running();
  } else {
    start(recipe_for(plan_), directory);
  }
}

void Server::must_run() {
  if (plan_.kind == Kind::kUrl) {
    if (!takes_connections(port_))
      throw Failure(fmt::format("{} no longer takes connections on port {}", name(), port_));
    return;
  }
  const auto exit = process_->wait_until(Clock::time_point::min());
  if (exit) throw Failure(fmt::format("{} has ended with code {}: {}", name(), exit->code, said()));
}

std::vector<pid_t> Server::processes() const { return process_ ? process_->group() : running_; }

std::optional<CpuTime> Server::cpu() const {
  const std::vector<pid_t> pids = processes();
  if (pids.empty()) return std::nullopt;
  return cpu_time(pids);
}

Memory Server::memory() const { return memory_of(processes()); }

/// The end of what it has said.
std::string Server::said() const {
  const std::string all = process_->output() + process_->errors();
  std::string_view text = trimmed(all);
  if (text.empty()) return "it said nothing";
  if (text.size() <= kWordsShown) return std::string(text);
  return fmt::format("… {}", text.substr(text.size() - kWordsShown));
}

void Server::start(const Recipe& recipe, const std::string& directory) {
  if (!plan_.under.empty()) plan_.patience = kTracedStartPatience;
  if (!takes_port(recipe)) {
    write_files(recipe.files, values_for(plan_, 0, directory), directory);
    process_.emplace(command_for(plan_, recipe, values_for(plan_, 0, directory)));
    wait_for_address();
    return;
  }
  for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
    if (start_on(free_port(), recipe, directory)) return;
  }
  throw Failure(fmt::format("{} found its port taken {} times: {}", name(), kPortAttempts, said()));
}

/// Starts it on `port`. False when someone else has taken the port meanwhile.
bool Server::start_on(std::uint16_t port, const Recipe& recipe, const std::string& directory) {
  process_.reset();
  port_ = port;
  const std::string home = fmt::format("{}/server-{}", directory, port);
  std::filesystem::create_directories(home);
  const Placeholders values = values_for(plan_, port, home);
  write_files(recipe.files, values, home);
  process_.emplace(command_for(plan_, recipe, values));
  const auto deadline = Clock::now() + plan_.patience;
  while (!takes_connections(port)) {
    if (process_->wait_until(Clock::time_point::min())) {
      if (says_port_in_use(process_->output() + process_->errors())) return false;
      must_run();
    }
    if (Clock::now() >= deadline) {
      throw Failure(fmt::format("{} took no connection on port {} within {} s: {}", name(), port,
                                plan_.patience / std::chrono::seconds(1), said()));
    }
    pause_for(kPoll);
  }
  // Who took the connection may be someone else.
  const std::vector<pid_t> group = process_->group();
  const std::vector<pid_t> owners = listeners_on(port);
  return owners.empty() || std::ranges::any_of(owners, [&](pid_t owner) {
           return std::ranges::find(group, owner) != group.end();
         });
}

/// Waits until a server that chooses its port itself has printed its address.
void Server::wait_for_address() {
  const auto deadline = Clock::now() + plan_.patience;
  while ((port_ = port_in(process_->output())) == 0) {
    must_run();
    if (Clock::now() >= deadline) {
      throw Failure(fmt::format(
          "{} did not print its address (http://127.0.0.1:PORT); it printed: {}", name(), said()));
    }
    pause_for(kPoll);
  }
}

void Server::join_running() {
  port_ = plan_.port;
  if (!takes_connections(port_)) {
    throw Failure(fmt::format("{} takes no connections on http://127.0.0.1:{}: start it first",
                              name(), port_));
  }
  running_ = listeners_on(port_);
}

std::string program_directory() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

std::vector<std::string> list_backends(const std::string& program) {
  Process process({.words = {program, "--list-backends"}});
  const auto exit = process.wait_until(Clock::now() + kPatience);
  if (!exit || exit->code != 0) {
    throw Failure(fmt::format("{} --list-backends failed: {}", program, trimmed(process.errors())));
  }
  std::vector<std::string> names;
  const std::string output = process.output();
  for (const std::string_view line : split(output, '\n')) {
    const auto words = words_of(line);
    if (!words.empty()) names.emplace_back(words.front());
  }
  return names;
}

std::uint16_t port_in(std::string_view text) {
  constexpr std::string_view kStart = "http://127.0.0.1:";
  const std::size_t at = text.find(kStart);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = text.substr(at + kStart.size());
  // A number at the very end may still be cut in the middle by the server's write.
  if (rest.find_first_not_of("0123456789") == std::string_view::npos) return 0;
  return number_or<std::uint16_t>(rest, 0);
}

}  // namespace leantea::lab

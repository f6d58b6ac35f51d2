#include "servers.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "client.hpp"
#include "failure.hpp"
#include "files.hpp"
#include "interrupt.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

constexpr std::chrono::seconds kStartPatience{10};
constexpr std::chrono::seconds kTracedStartPatience{90};  // under valgrind
constexpr std::chrono::milliseconds kPoll{5};
constexpr int kPortAttempts = 5;
constexpr std::uint64_t kSpareDescriptors = 1024;

sockaddr_in loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// A free port that stays ours: the socket is bound but does not listen, so it takes no connections, and only
/// sockets of the same user that also set SO_REUSEPORT (as nginx does by its configuration) can bind beside it.
std::pair<Descriptor, std::uint16_t> reserve_port() {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid())
    throw Failure("no more sockets: raise the limit of open descriptors (ulimit -n)");
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  sockaddr_in address = loopback();
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket.get(), generic, length) != 0 ||
      ::getsockname(socket.get(), generic, &length) != 0) {
    throw Failure("no free port on 127.0.0.1");
  }
  return {std::move(socket), ntohs(address.sin_port)};
}

bool takes_connections(std::uint16_t port) {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback();
  address.sin_port = htons(port);
  return socket.valid() &&
         ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

std::string with(std::string text, std::string_view word, const std::string& value) {
  for (std::size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + value.size())) {
    text.replace(at, word.size(), value);
  }
  return text;
}

/// As root, nginx would give its workers to another user, who may not enter the folder of this run.
std::string user_line() {
  if (::geteuid() != 0) return "";
  const passwd* user = ::getpwuid(0);
  return fmt::format("user {};", user == nullptr ? "root" : user->pw_name);
}

std::string nginx_configuration(const ServerPlan& plan, std::uint16_t port,
                                const std::string& directory) {
  std::string text(file("peers/nginx.conf"));
  text = with(text, "@USER@", user_line());
  text = with(text, "@WORKERS@", std::to_string(plan.workers));
  // Those of the last round may still be closing when those of the next one come, and nginx makes room by
  // closing connections that rest: with room for one round, 1,200 of 2,000 clients saw an error.
  text = with(text, "@CONNECTIONS@", std::to_string(2 * plan.connections + 64));
  text = with(text, "@DIRECTORY@", directory);
  return with(text, "@PORT@", std::to_string(port));
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

Command command_for(const ServerPlan& plan, const std::vector<std::string>& words) {
  Command command{
      .words = plan.under, .cpus = plan.cpus, .descriptors = plan.connections + kSpareDescriptors};
  command.words.insert(command.words.end(), words.begin(), words.end());
  return command;
}

}  // namespace

Server::Server(ServerPlan plan, const std::string& directory) : plan_(std::move(plan)) {
  switch (plan_.kind) {
    case Kind::kOurs:
      start_printing(ours_words(plan_));
      break;
    case Kind::kFloor:
      start_printing(floor_words(plan_));
      break;
    case Kind::kNginx:
      start_nginx(directory);
      break;
  }
}

void Server::must_run() {
  const auto exit = process_->wait_until(Clock::time_point::min());
  if (!exit) return;
  throw Failure(fmt::format("{} has ended with code {}: {}", name(), exit->code,
                            trimmed(process_->output() + process_->errors())));
}

/// Starts a server that prints its address.
void Server::start_printing(const std::vector<std::string>& words) {
  process_.emplace(command_for(plan_, words));
  const auto deadline =
      Clock::now() + (plan_.under.empty() ? kStartPatience : kTracedStartPatience);
  while ((port_ = port_in(process_->output())) == 0) {
    must_run();
    if (Clock::now() >= deadline) {
      throw Failure(
          fmt::format("{} did not print its address (http://127.0.0.1:PORT); it printed: {}",
                      name(), trimmed(process_->output() + process_->errors())));
    }
    pause_for(kPoll);
  }
}

void Server::start_nginx(const std::string& directory) {
  for (int attempt = 1;; ++attempt) {
    std::tie(reserved_, port_) = reserve_port();
    const std::string home = fmt::format("{}/nginx-{}", directory, port_);
    std::filesystem::create_directories(home);
    const std::string configuration = home + "/nginx.conf";
    std::ofstream(configuration) << nginx_configuration(plan_, port_, home);
    process_.emplace(command_for(plan_, {"nginx", "-p", home, "-c", configuration}));
    const auto deadline =
        Clock::now() + (plan_.under.empty() ? kStartPatience : kTracedStartPatience);
    bool ended = false;
    while (!ended && !takes_connections(port_)) {
      if (Clock::now() >= deadline)
        throw Failure("nginx took no connection in time: " + process_->errors());
      pause_for(kPoll);
      ended = process_->wait_until(Clock::time_point::min()).has_value();
    }
    if (!ended) return;
    const bool clash = process_->errors().find("Address already in use") != std::string::npos;
    if (!clash || attempt == kPortAttempts) must_run();
    process_.reset();  // someone else has the port: try another
  }
}

std::string program_directory() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

std::vector<std::string> list_backends(const std::string& program) {
  Process process({.words = {program, "--list-backends"}});
  const auto exit = process.wait_until(Clock::now() + kStartPatience);
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

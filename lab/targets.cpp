#include "targets.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "checks.hpp"
#include "failure.hpp"
#include "process.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

constexpr std::string_view kFloorUring = "floor-uring";

FloorMode floor_mode_for(const Load& load) {
  if (load.pipeline > 1) return FloorMode::kPipelined;
  if (load.first().route() == "/echo") return FloorMode::kEcho;
  if (load.requests_per_connection == 1) return FloorMode::kClose;
  return load.tool == Tool::kAb ? FloorMode::kHttp10 : FloorMode::kPlain;
}

std::vector<std::string> server_names() {
  std::vector<std::string> names{"ours", "floor", std::string(kFloorUring)};
  for (const Peer& peer : all_peers()) names.push_back(peer.name);
  return names;
}

const Peer& peer_named(std::string_view name) {
  if (const Peer* peer = find_peer(name)) return *peer;
  throw Failure(fmt::format("'{}' is not a server: {}", name, fmt::join(server_names(), ", ")),
                kExitUsage);
}

/// What a server has to be able to do for `load`, and how that is called.
std::vector<std::pair<std::string, std::string>> needs_of(const Load& load, int workers) {
  std::vector<std::pair<std::string, std::string>> needs;
  for (const std::string& route : load.routes()) needs.emplace_back(route, route);
  if (load.tool == Tool::kAb) needs.emplace_back(kHttp10KeepAlive, "ab's load");
  if (load.pipeline > 1) needs.emplace_back(kPipelinedRequests, "pipelined requests");
  if (load.requests_per_connection > 1)
    needs.emplace_back(kClosingOnRequest, "connections that end after some requests");
  if (workers > 1) needs.emplace_back(kSeveralWorkers, "runs with several workers");
  return needs;
}

/// Makes the plans of one call of plans_of().
class Selection {
 public:
  Selection(const Targets& targets, const Load& load, std::vector<std::string>& left_out)
      : targets_(targets), load_(load), left_out_(left_out) {}

  std::vector<ServerPlan> plans() {
    for (const std::string& name : names()) add_named(name);
    const std::size_t users = targets_.commands.size() + targets_.urls.size();
    if (targets_.names.size() > users)
      throw Failure("--name has no --command or --url to belong to", kExitUsage);
    std::size_t number = 0;
    for (const std::string& command : targets_.commands)
      add(command_plan(users_name(number++), command));
    for (const std::string& url : targets_.urls) add(url_plan(users_name(number++), url));
    require_different_names();
    return std::move(plans_);
  }

 private:
  /// Ratios and verdicts go by name.
  void require_different_names() const {
    std::set<std::string> seen;
    for (const ServerPlan& plan : plans_) {
      if (!seen.insert(plan.name).second) {
        throw Failure(
            fmt::format("two servers are called {}: name each once, and yours with --name",
                        plan.name),
            kExitUsage);
      }
    }
  }

  /// The servers that are asked for by name, each once.
  std::vector<std::string> names() const {
    std::vector<std::string> names = targets_.servers;
    std::erase(names, "none");
    const auto want = [&](const std::string& name) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    };
    if (!targets_.peers.empty()) {
      for (const Peer& peer : peers_named(targets_.peers)) want(peer.name);
      for (const char* name : {"floor", "floor-uring", "ours"}) want(name);
    }
    return names;
  }

  std::string users_name(std::size_t number) const {
    if (number < targets_.names.size()) return targets_.names[number];
    return number == 0 ? "mine" : fmt::format("mine {}", number + 1);
  }

  void add_named(const std::string& name) {
    if (name == "floor") {
      add_floor(floor_plan(load_));
    } else if (name == kFloorUring) {
      add_floor_uring();
    } else if (name == "ours") {
      add_ours();
    } else if (const Peer& peer = peer_named(name);
               targets_.peers.empty() || !program_of(peer).empty()) {
      add_peer(peer);
    } else {
      leave_out(
          fmt::format("{} is left out: it is not installed ({})", name, how_to_install(peer)));
    }
  }

  void add_ours() {
    if (targets_.backends.empty()) add(ours_plan(targets_, "ours", ""));
    for (const std::string& backend : targets_.backends) {
      add(ours_plan(targets_, targets_.backends.size() == 1 ? "ours" : "ours " + backend, backend));
    }
  }

  void add_floor(ServerPlan plan) {
    plan.cannot.emplace("/sum", "it reads no numbers");
    plan.cannot.emplace(kClosingOnRequest, "it does not look at the field Connection");
    add(std::move(plan));
  }

  void add_floor_uring() {
    ServerPlan plan = floor_plan(load_);
    plan.name = kFloorUring;
    plan.program = program_directory() + "/floor_uring";
    const std::string problem = floor_uring_problem(plan.program);
    if (problem.empty()) return add_floor(std::move(plan));
    const std::string line = fmt::format("{} is left out: {}", kFloorUring, problem);
    if (targets_.peers.empty()) throw Failure(line, kExitUsage);
    leave_out(line);
  }

  /// Why there can be no floor on io_uring here, or empty.
  static std::string floor_uring_problem(const std::string& program) {
    if (find_program(program).empty())
      return "it is not built (liburing-dev was not there, or ./dev build is due)";
    static const std::string kProblem = [&] {
      Process probe({.words = {program, "--probe"}, .cpus = {}});
      const auto exit =
          probe.wait_until(std::chrono::steady_clock::now() + std::chrono::seconds(5));
      if (exit && exit->code == 0) return std::string();
      return std::string(trimmed(probe.errors()));
    }();
    return kProblem;
  }

  void add_peer(const Peer& peer) {
    ServerPlan plan = peer_plan(targets_, peer.name);
    const auto wanted = static_cast<std::uint64_t>(load_.connections);
    if (peer.most_connections > 0 && wanted > peer.most_connections) {
      leave_out(fmt::format("{} is left out of {} connections: it is measured with at most {}",
                            peer.name, wanted, peer.most_connections));
      return;
    }
    add(std::move(plan));
  }

  ServerPlan command_plan(const std::string& name, const std::string& command) const {
    return {.kind = Kind::kCommand,
            .name = name,
            .program = {},
            .backend = {},
            .workers = targets_.workers,
            .cpus = {},
            .recipe = {.words = command_words(command), .files = {}}};
  }

  static ServerPlan url_plan(const std::string& name, const std::string& url) {
    return {.kind = Kind::kUrl,
            .name = name,
            .program = {},
            .backend = {},
            .cpus = {},
            .port = port_of_url(url)};
  }

  void add(ServerPlan plan) {
    for (const auto& [need, called] : needs_of(load_, targets_.workers)) {
      const auto reason = plan.cannot.find(need);
      if (reason == plan.cannot.end()) continue;
      leave_out(fmt::format("{} is left out of {}: {}", plan.name, called, reason->second));
      return;
    }
    plans_.push_back(std::move(plan));
  }

  void leave_out(const std::string& line) {
    if (std::ranges::find(left_out_, line) == left_out_.end()) left_out_.push_back(line);
  }

  const Targets& targets_;
  const Load& load_;
  std::vector<std::string>& left_out_;
  std::vector<ServerPlan> plans_;
};

}  // namespace

ServerPlan ours_plan(const Targets& targets, const std::string& name, const std::string& backend) {
  return {.kind = Kind::kOurs,
          .name = name,
          .program = targets.ours.empty() ? program_directory() + "/bench_server" : targets.ours,
          .backend = backend,
          .workers = targets.workers,
          .cpus = {}};
}

ServerPlan peer_plan(const Targets& targets, std::string_view name) {
  const Peer& peer = peer_named(name);
  const std::string program = program_of(peer);
  if (program.empty()) {
    throw Failure(fmt::format("{} is not installed; {}", peer.name, how_to_install(peer)),
                  kExitUsage);
  }
  return {.kind = Kind::kPeer,
          .name = peer.name,
          .program = program,
          .backend = {},
          .workers = targets.workers,
          .cpus = {},
          .recipe = recipe_of(peer),
          .warm_up = peer.warm_up,
          .cannot = peer.cannot};
}

ServerPlan floor_plan(const Load& load) {
  return {.kind = Kind::kFloor,
          .name = "floor",
          .program = program_directory() + "/floor",
          .backend = {},
          .floor_mode = floor_mode_for(load),
          .content_bytes = load.first().route() == "/json" ? kJson.size() : kHealth.size(),
          .cpus = {}};
}

std::vector<ServerPlan> plans_of(const Targets& targets, const Load& load,
                                 std::vector<std::string>& left_out) {
  return Selection(targets, load, left_out).plans();
}

std::vector<ServerPlan> plans_of(const Targets& targets, const Load& load) {
  std::vector<std::string> left_out;
  std::vector<ServerPlan> plans = plans_of(targets, load, left_out);
  for (const std::string& line : left_out) fmt::print(stderr, "note: {}\n", line);
  return plans;
}

std::vector<std::string> command_words(std::string_view line) {
  std::vector<std::string> words;
  bool inside = false;  // a word has begun
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      words.back() += line[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != 0)
    throw Failure(fmt::format("--command {}: a {} that does not end", line, quote), kExitUsage);
  if (words.empty()) throw Failure("--command is empty", kExitUsage);
  return words;
}

std::uint16_t port_of_url(std::string_view url) {
  for (const std::string_view start : {"http://127.0.0.1:", "http://localhost:"}) {
    if (!url.starts_with(start)) continue;
    std::string_view port = url.substr(start.size());
    if (port.ends_with('/')) port.remove_suffix(1);
    const bool digits = port.find_first_not_of("0123456789") == std::string_view::npos;
    const auto number = number_or<std::uint16_t>(port, 0);
    if (digits && number != 0) return number;
  }
  throw Failure(
      fmt::format("--url {}: the lab measures servers of this machine, http://127.0.0.1:PORT", url),
      kExitUsage);
}

void require_server(const ServerPlan& plan) {
  switch (plan.kind) {
    case Kind::kPeer:  // peer_plan() has looked
    case Kind::kUrl:
      return;
    case Kind::kCommand:
      if (find_program(plan.recipe.words.front()).empty())
        throw Failure(fmt::format("--command: {} is no program", plan.recipe.words.front()),
                      kExitUsage);
      return;
    case Kind::kOurs:
    case Kind::kFloor:
      break;
  }
  if (!find_program(plan.program).empty()) return;
  throw Failure(
      fmt::format(
          "{} is not there: build it (./dev build){}", plan.program,
          plan.kind == Kind::kOurs
              ? ", name another with --ours PATH, or leave it out with --servers nginx,floor"
              : ""),
      kExitUsage);
}

}  // namespace leantea::lab

#include "spread.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "client.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "process.hpp"
#include "table.hpp"
#include "temporary.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

// Enough to stand out beside a timer of another thread.
constexpr int kRequests = 8;
// A thread's time is brought up to date when it goes to sleep, which is a moment after its answer.
constexpr std::chrono::milliseconds kMoment{1};
constexpr int kMoments = 50;
constexpr std::chrono::milliseconds kSettle{300};
constexpr std::size_t kSpareDescriptors = 256;

ThreadTimes thread_times(const std::vector<pid_t>& processes) {
  ThreadTimes times;
  for (const pid_t pid : processes) {
    std::error_code error;
    for (const auto& task :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), error)) {
      std::ifstream file(task.path() / "schedstat");
      std::int64_t on_cpu = 0;
      if (!(file >> on_cpu)) continue;
      times[number_or<pid_t>(task.path().filename().string(), 0)] =
          std::chrono::nanoseconds(on_cpu);
    }
  }
  return times;
}

/// The thread that answers on `client`.
pid_t answerer(Client& client, const std::string& request, const std::vector<pid_t>& processes) {
  const ThreadTimes before = thread_times(processes);
  for (int i = 0; i < kRequests; ++i) {
    const Answer answer = client.exchange(request);
    if (answer.status != 200)
      throw Failure(fmt::format("the server answers with status {}", answer.status));
  }
  for (int i = 0; i < kMoments; ++i) {
    pause_for(kMoment);
    if (const pid_t thread = busiest(before, thread_times(processes)); thread != 0) return thread;
  }
  throw Failure("no thread of the server used any time (is there no /proc/PID/task/*/schedstat?)");
}

/// Connections of each thread that has any.
std::vector<std::size_t> count(ServerPlan plan, std::size_t connections) {
  const TemporaryDirectory directory;
  plan.connections = connections + kSpareDescriptors;
  Server server(std::move(plan), directory.path());
  pause_for(kSettle);
  std::vector<Client> clients;
  clients.reserve(connections);
  while (clients.size() < connections) clients.emplace_back(server.port());
  const std::string request = wrk_request("/health", server.port());
  const std::vector<pid_t> processes = server.processes();
  std::map<pid_t, std::size_t> counts;
  for (Client& client : clients) ++counts[answerer(client, request, processes)];
  std::vector<std::size_t> sorted;
  for (const auto& [thread, number] : counts) sorted.push_back(number);
  std::ranges::sort(sorted);
  return sorted;
}

struct Counted {
  std::string server;
  std::vector<std::vector<std::size_t>> rounds;

  double worst(std::size_t loops) const {
    double worst = 0;
    for (const auto& counts : rounds) worst = std::max(worst, unevenness(counts, loops));
    return worst;
  }
};

std::string json_of(const std::vector<Counted>& all, const SpreadOptions& options) {
  Json json;
  const auto loops = static_cast<std::size_t>(options.targets.workers);
  json.object([&] {
    json.field("connections", options.connections);
    json.field("loops", loops);
    json.array("servers", [&] {
      for (const Counted& counted : all) {
        json.object([&] {
          json.field("server", counted.server);
          json.field("unevenness", counted.worst(loops));
        });
      }
    });
  });
  return json.text();
}

}  // namespace

pid_t busiest(const ThreadTimes& before, const ThreadTimes& after) {
  pid_t thread = 0;
  std::chrono::nanoseconds most{};
  for (const auto& [id, time] : after) {
    const auto earlier = before.find(id);
    const auto grown = earlier == before.end() ? time : time - earlier->second;
    if (grown <= most) continue;
    most = grown;
    thread = id;
  }
  return thread;
}

double unevenness(const std::vector<std::size_t>& counts, std::size_t loops) {
  double sum = 0;
  for (const std::size_t number : counts) sum += static_cast<double>(number);
  if (sum == 0 || loops == 0) return 0;
  const double share = sum / static_cast<double>(loops);
  double most = counts.size() < loops ? 1 : 0;  // one has none
  for (const std::size_t number : counts)
    most = std::max(most, std::abs(static_cast<double>(number) - share) / share);
  return most;
}

int spread(const SpreadOptions& options) {
  const std::vector<ServerPlan> plans = plans_of(options.targets, Load{});
  for (const ServerPlan& plan : plans) require_server(plan);
  raise_descriptor_limit(2 * options.connections + kSpareDescriptors);
  const auto loops = static_cast<std::size_t>(options.targets.workers);
  std::vector<Counted> all;
  Table table(
      {"server", "loops", "connections of each loop, round by round", "off the equal share"});
  for (const ServerPlan& plan : plans) {
    Counted counted{.server = plan.name, .rounds = {}};
    std::string cells;
    for (int round = 0; round < options.rounds; ++round) {
      counted.rounds.push_back(count(plan, options.connections));
      cells +=
          fmt::format("{}{}", cells.empty() ? "" : "  ", fmt::join(counted.rounds.back(), "+"));
    }
    table.add({plan.name, std::to_string(loops), cells,
               fmt::format("at most {:.1f} %", counted.worst(loops) * 100)});
    all.push_back(std::move(counted));
  }
  if (options.json != "-") {
    fmt::print("{} connections opened at once, {} servers of each kind\n{}", options.connections,
               options.rounds, table.text());
  }
  if (!options.json.empty()) write_text(options.json, json_of(all, options));
  return 0;
}

}  // namespace leantea::lab

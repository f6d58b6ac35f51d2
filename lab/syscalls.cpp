#include "syscalls.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "client.hpp"
#include "drive.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "process.hpp"
#include "table.hpp"
#include "temporary.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

constexpr std::chrono::seconds kPatience{10};

Calls count(ServerPlan plan, std::size_t requests, std::size_t connections) {
  const TemporaryDirectory directory;
  const std::string report = directory.path() + "/strace";
  plan.under = {"strace", "-f", "-c", "-o", report};
  Server server(std::move(plan), directory.path());
  drive(server.port(), wrk_request("/health", server.port()), requests, connections);
  server.process().terminate_children();
  if (!server.process().wait_until(Clock::now() + kPatience)) {
    throw Failure(fmt::format("{} did not end on SIGTERM", server.name()));
  }
  std::ostringstream text;
  text << std::ifstream(report).rdbuf();
  Calls calls = parse_strace(text.str());
  if (calls.empty())
    throw Failure("strace counted nothing (may this user trace?): " + server.process().errors());
  return calls;
}

Calls measure(const ServerPlan& plan, std::size_t requests, std::size_t connections) {
  const std::size_t turns = std::max<std::size_t>(requests / connections, 1);
  const std::size_t more = turns * connections;
  const std::size_t few = std::max<std::size_t>(turns / 10, 1) * connections;
  return per_request(count(plan, few, connections), count(plan, few + more, connections), more);
}

/// Calls per request of one server, a map for each number of connections.
struct Counted {
  std::string server;
  std::vector<Calls> calls;
};

std::string table_of(const Counted& counted, const SyscallsOptions& options) {
  std::set<std::string> names;
  for (const Calls& calls : counted.calls) {
    for (const auto& [name, number] : calls) names.insert(name);
  }
  std::vector<std::string> header{"system call"};
  for (const std::size_t n : options.connections)
    header.push_back(fmt::format("{} connection{}", n, n == 1 ? "" : "s"));
  Table table(header);
  for (const std::string& name : names) {
    std::vector<std::string> cells{name};
    for (const Calls& calls : counted.calls) {
      const auto found = calls.find(name);
      cells.push_back(fmt::format("{:.4f}", found == calls.end() ? 0.0 : found->second));
    }
    table.add(std::move(cells));
  }
  return table.text();
}

std::string json_of(const std::vector<Counted>& all, const SyscallsOptions& options) {
  Json json;
  json.object([&] {
    json.field("requests", options.requests);
    json.array("servers", [&] {
      for (const Counted& counted : all) {
        for (std::size_t i = 0; i < counted.calls.size(); ++i) {
          json.object([&] {
            json.field("server", counted.server);
            json.field("connections", options.connections[i]);
            json.object("calls_per_request", [&] {
              for (const auto& [name, number] : counted.calls[i]) json.field(name, number);
            });
          });
        }
      }
    });
  });
  return json.text();
}

}  // namespace

Calls parse_strace(std::string_view table) {
  // % time     seconds  usecs/call     calls    errors syscall     (the column of errors may be empty)
  Calls calls;
  for (const std::string_view line : split(table, '\n')) {
    const auto words = words_of(line);
    if (words.size() < 5 || words.back() == "total" ||
        words.front().find_first_of("0123456789") != 0)
      continue;
    calls[std::string(words.back())] += number_or<double>(words[3], 0);
  }
  return calls;
}

Calls per_request(const Calls& shorter, const Calls& longer, std::size_t requests) {
  Calls result = longer;
  for (const auto& [name, number] : shorter) result[name] -= number;
  std::erase_if(result, [](const auto& call) { return call.second == 0; });
  for (auto& [name, number] : result) number /= static_cast<double>(requests);
  return result;
}

int syscalls(const SyscallsOptions& options) {
  require_program("strace", "strace");
  const std::vector<ServerPlan> plans = plans_of(options.targets, Load{});
  for (const ServerPlan& plan : plans) require_server(plan);
  std::vector<Counted> all;
  for (const ServerPlan& plan : plans) {
    Counted counted{.server = plan.name, .calls = {}};
    for (const std::size_t n : options.connections)
      counted.calls.push_back(measure(plan, options.requests, n));
    if (options.json != "-") {
      fmt::print("{}: system calls per keep-alive request, over {} requests\n{}\n", counted.server,
                 options.requests, table_of(counted, options));
    }
    all.push_back(std::move(counted));
  }
  if (!options.json.empty()) write_text(options.json, json_of(all, options));
  return 0;
}

}  // namespace leantea::lab

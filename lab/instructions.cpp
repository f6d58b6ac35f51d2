#include "instructions.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "checks.hpp"
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

constexpr std::chrono::seconds kPatience{60};  // valgrind is slow to end, too
constexpr std::size_t kWarmUp = 500;           // of the shorter run

/// What is sent.
struct Question {
  std::string path;
  std::size_t content_bytes = 0;
  Load load() const {
    return {.tool = Tool::kAb,
            .requests = {{.method = path == "/echo" ? "POST" : "GET", .target = path}}};
  }
  std::string request(std::uint16_t port) const {
    return path == "/echo" ? ab_request(path, port, std::string(content_bytes, 'x'))
                           : ab_request(path, port);
  }
};

/// All instructions of a server that starts, answers `requests` requests and stops.
std::uint64_t count(ServerPlan plan, const Question& question, std::size_t requests,
                    std::size_t connections) {
  const TemporaryDirectory directory;
  plan.under = {"valgrind", "-q", "--tool=callgrind",
                "--callgrind-out-file=" + directory.path() + "/callgrind.%p"};
  Server server(std::move(plan), directory.path());
  drive(server.port(), question.request(server.port()), requests, connections);
  server.process().stop(kPatience);
  std::uint64_t sum = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    if (!entry.path().filename().string().starts_with("callgrind.")) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    sum += parse_callgrind(text.str());
  }
  if (sum == 0) throw Failure("valgrind counted nothing: " + server.process().errors());
  return sum;
}

double measure(const ServerPlan& plan, const Question& question,
               const InstructionsOptions& options) {
  const std::size_t turns = std::max<std::size_t>(options.requests / options.connections, 1);
  const std::size_t few =
      std::max<std::size_t>(kWarmUp / options.connections, 1) * options.connections;
  const std::size_t more = turns * options.connections;
  const std::uint64_t shorter = count(plan, question, few, options.connections);
  const std::uint64_t longer = count(plan, question, few + more, options.connections);
  return (static_cast<double>(longer) - static_cast<double>(shorter)) / static_cast<double>(more);
}

struct Counted {
  std::string server;
  std::string route;
  double per_request = 0;
};

std::string json_of(const std::vector<Counted>& all, const InstructionsOptions& options) {
  Json json;
  json.object([&] {
    json.field("requests", options.requests);
    json.field("connections", options.connections);
    json.array("servers", [&] {
      for (const Counted& counted : all) {
        json.object([&] {
          json.field("server", counted.server);
          json.field("route", counted.route);
          json.field("instructions_per_request", counted.per_request);
        });
      }
    });
  });
  return json.text();
}

}  // namespace

std::uint64_t parse_callgrind(std::string_view file) {
  for (const std::string_view name :
       {std::string_view("\nsummary:"), std::string_view("\ntotals:")}) {
    const std::size_t at = file.find(name);
    if (at == std::string_view::npos) continue;
    return number_or<std::uint64_t>(trimmed(file.substr(at + name.size())), 0);
  }
  return 0;
}

int instructions(const InstructionsOptions& options) {
  require_program("valgrind", "valgrind");
  const auto routes = options.routes.empty() ? std::vector<std::string>{"/health", "/json", "/echo"}
                                             : options.routes;
  std::vector<Counted> all;
  Table table({"server", "route", "instructions/request"});
  for (const std::string& route : routes) {
    const Question question{.path = route, .content_bytes = options.content_bytes};
    for (const ServerPlan& plan : plans_of(options.targets, question.load())) {
      require_server(plan);
      all.push_back(
          {.server = plan.name, .route = route, .per_request = measure(plan, question, options)});
      table.add({plan.name, route, fmt::format("{:.0f}", all.back().per_request)});
    }
  }
  if (options.json != "-") {
    fmt::print(
        "user-space instructions per request of ab -k, {} connection(s), over {} requests\n{}",
        options.connections, options.requests, table.text());
  }
  if (!options.json.empty()) write_text(options.json, json_of(all, options));
  return 0;
}

}  // namespace leantea::lab

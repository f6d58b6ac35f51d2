#include "idle_memory.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "client.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "process.hpp"
#include "table.hpp"
#include "temporary.hpp"

namespace leantea::lab {
namespace {

constexpr std::size_t kWarmUp = 32;
// Connections from one source address, of the about 28,000 ports that it has.
constexpr std::size_t kPerAddress = 10'000;
constexpr std::size_t kSpareDescriptors = 256;
constexpr std::chrono::milliseconds kSettle{300};

struct Measured {
  std::string server;
  Memory empty;   ///< started, nothing asked
  Memory before;  ///< a few connections answered and open
  Memory after;   ///< all of them
  std::size_t connections = 0;

  double anonymous() const { return per_connection(after.anonymous, before.anonymous); }
  double proportional() const { return per_connection(after.proportional, before.proportional); }

 private:
  double per_connection(std::uint64_t later, std::uint64_t earlier) const {
    return (static_cast<double>(later) - static_cast<double>(earlier)) /
           static_cast<double>(connections);
  }
};

/// Opens connections until there are `wanted`, each with one answered request.
void open_up_to(std::size_t wanted, std::uint16_t port, std::vector<Client>& clients) {
  const std::string request = wrk_request("/health", port);
  while (clients.size() < wanted) {
    clients.emplace_back(port, 1 + static_cast<int>(clients.size() / kPerAddress));
    const Answer answer = clients.back().exchange(request);
    if (answer.status != 200)
      throw Failure(fmt::format("the server answers with status {}", answer.status));
  }
}

Measured measure(ServerPlan plan, std::size_t connections) {
  const TemporaryDirectory directory;
  plan.connections = connections + kWarmUp + kSpareDescriptors;
  Server server(std::move(plan), directory.path());
  pause_for(kSettle);
  Measured measured{.server = server.name()};
  measured.empty = server.memory();
  std::vector<Client> clients;
  clients.reserve(connections + kWarmUp);
  open_up_to(kWarmUp, server.port(), clients);
  pause_for(kSettle);
  measured.before = server.memory();
  open_up_to(connections + kWarmUp, server.port(), clients);
  pause_for(kSettle);
  measured.after = server.memory();
  measured.connections = connections;
  return measured;
}

/// As many connections as both sides may have descriptors for.
std::size_t allowed(std::size_t wanted) {
  const std::uint64_t needed = wanted + kWarmUp + 2 * kSpareDescriptors;
  const std::uint64_t limit = raise_descriptor_limit(needed);
  if (limit >= needed) return wanted;
  const std::uint64_t taken = kWarmUp + 2 * kSpareDescriptors;
  const std::size_t possible = limit > taken ? limit - taken : 1;
  fmt::print(stderr,
             "leantea-lab: {} connections instead of {}: the limit of open descriptors is {} "
             "(ulimit -n)\n",
             possible, wanted, limit);
  return possible;
}

std::string json_of(const std::vector<Measured>& all) {
  Json json;
  const auto write = [&](std::string_view name, const Memory& memory) {
    json.object(name, [&] {
      json.field("resident", memory.resident);
      json.field("anonymous", memory.anonymous);
      json.field("proportional", memory.proportional);
    });
  };
  json.object([&] {
    json.array("servers", [&] {
      for (const Measured& measured : all) {
        json.object([&] {
          json.field("server", measured.server);
          json.field("connections", measured.connections);
          json.field("anonymous_bytes_per_connection", measured.anonymous());
          json.field("proportional_bytes_per_connection", measured.proportional());
          write("started", measured.empty);
          write("before", measured.before);
          write("after", measured.after);
        });
      }
    });
  });
  return json.text();
}

}  // namespace

int idle_memory(const IdleMemoryOptions& options) {
  const std::vector<ServerPlan> plans = plans_of(options.targets, Load{});
  for (const ServerPlan& plan : plans) require_server(plan);
  const std::size_t connections = allowed(options.connections);
  std::vector<Measured> all;
  Table table({"server", "connections", "bytes/connection (RssAnon)", "bytes/connection (PSS)",
               "started, KiB (RSS)"});
  for (const ServerPlan& plan : plans) {
    all.push_back(measure(plan, connections));
    const Measured& m = all.back();
    table.add({m.server, std::to_string(m.connections), fmt::format("{:.0f}", m.anonymous()),
               m.after.proportional == 0 ? "–" : fmt::format("{:.0f}", m.proportional()),
               std::to_string(m.empty.resident / 1024)});
  }
  if (options.json != "-") {
    fmt::print("user memory per idle keep-alive connection, one request answered on each\n{}",
               table.text());
  }
  if (!options.json.empty()) write_text(options.json, json_of(all));
  return 0;
}

}  // namespace leantea::lab

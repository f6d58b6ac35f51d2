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
constexpr std::chrono::milliseconds kSettle{300};

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

std::string json_of(const std::vector<IdleMemory>& all) {
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
      for (const IdleMemory& measured : all) {
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

double IdleMemory::anonymous() const {
  return (static_cast<double>(after.anonymous) - static_cast<double>(before.anonymous)) /
         static_cast<double>(connections);
}

double IdleMemory::proportional() const {
  return (static_cast<double>(after.proportional) - static_cast<double>(before.proportional)) /
         static_cast<double>(connections);
}

IdleMemory measure_idle_memory(Server& server, std::size_t connections) {
  pause_for(kSettle);
  IdleMemory measured{.server = server.name(),
                      .empty = server.memory(),
                      .before = {},
                      .after = {},
                      .connections = connections};
  std::vector<Client> clients;
  clients.reserve(connections + kWarmUp);
  open_up_to(kWarmUp, server.port(), clients);
  pause_for(kSettle);
  measured.before = server.memory();
  open_up_to(connections + kWarmUp, server.port(), clients);
  pause_for(kSettle);
  measured.after = server.memory();
  return measured;
}

std::size_t allowed_connections(std::size_t wanted) {
  const std::uint64_t needed = wanted + 2 * kIdleSpare;
  const std::uint64_t limit = raise_descriptor_limit(needed);
  if (limit >= needed) return wanted;
  const std::size_t possible = limit > 2 * kIdleSpare ? limit - 2 * kIdleSpare : 1;
  fmt::print(stderr,
             "leantea-lab: {} connections instead of {}: the limit of open descriptors is {} "
             "(ulimit -n)\n",
             possible, wanted, limit);
  return possible;
}

int idle_memory(const IdleMemoryOptions& options) {
  const std::vector<ServerPlan> plans = plans_of(options.targets, Load{});
  for (const ServerPlan& plan : plans) require_server(plan);
  const std::size_t connections = allowed_connections(options.connections);
  std::vector<IdleMemory> all;
  Table table({"server", "connections", "bytes/connection (RssAnon)", "bytes/connection (PSS)",
               "started, KiB (RSS)"});
  for (ServerPlan plan : plans) {
    const TemporaryDirectory directory;
    plan.connections = connections + kIdleSpare;
    Server server(std::move(plan), directory.path());
    all.push_back(measure_idle_memory(server, connections));
    const IdleMemory& m = all.back();
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

#include "paced.hpp"

#include <sched.h>

#include <algorithm>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "checks.hpp"
#include "contest.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "load.hpp"
#include "machine.hpp"
#include "statistics.hpp"
#include "table.hpp"

namespace leantea::lab {
namespace {

constexpr double kLateMicros =
    100;  // a client that is later than this at its p99 does not keep its schedule

double micros(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

/// A server and what its rounds gave.
struct Track {
  Server* server = nullptr;
  std::vector<PacedResult> rounds;

  Summary percentile(double percent) const {
    Values values;
    for (const PacedResult& round : rounds)
      values.emplace_back(micros(round.latency.percentile(percent)));
    return summarize(values).value_or(Summary{});
  }
  Histogram all() const {
    Histogram sum;
    for (const PacedResult& round : rounds) sum.add(round.latency);
    return sum;
  }
  double late_p99() const {
    Histogram sum;
    for (const PacedResult& round : rounds) sum.add(round.late);
    return micros(sum.percentile(99));
  }
  double rate() const {
    double answered = 0;
    double seconds = 0;
    for (const PacedResult& round : rounds) {
      answered += static_cast<double>(round.answered);
      seconds += round.seconds;
    }
    return seconds > 0 ? answered / seconds : 0;
  }
};

/// The client runs in this thread, so this thread has to be on the client's core.
void move_to(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

/// Half of what nginx answers at most.
double half_of_nginx(Stage& stage, const PacedOptions& options) {
  require_program("wrk", "wrk");
  const ServerPlan nginx = peer_plan(options.targets, "nginx");
  Load load{.path = options.path,
            .connections = options.connections,
            .duration = std::chrono::seconds(1)};
  const LoadResult result =
      run_load(load, stage.server(nginx).port(), stage.placement().load, stage.directory());
  if (!result.sound()) throw Failure("nginx's maximum could not be found: " + fault_of(result));
  return result.requests_per_second / 2;
}

std::string with_range(const Summary& summary) {
  if (summary.count == 1) return fmt::format("{:.0f}", summary.median);
  return fmt::format("{:.0f} ({:.0f}–{:.0f})", summary.median, summary.min, summary.max);
}

std::string json_of(const std::vector<Track>& tracks, const PacedOptions& options, double rate) {
  Json json;
  json.object([&] {
    json.field("rate", rate);
    json.field("path", options.path);
    json.field("connections", options.connections);
    json.field("seconds", options.seconds);
    json.array("servers", [&] {
      for (const Track& track : tracks) {
        json.object([&] {
          json.field("server", track.server->name());
          json.field("requests_per_second", track.rate());
          json.field("client_late_p99_us", track.late_p99());
          json.array("rounds", [&] {
            for (const PacedResult& round : track.rounds) {
              json.object([&] {
                json.field("requests", round.answered);
                json.field("p50_us", micros(round.latency.percentile(50)));
                json.field("p99_us", micros(round.latency.percentile(99)));
                json.field("p999_us", micros(round.latency.percentile(99.9)));
                json.field("max_us", micros(round.latency.max()));
              });
            }
          });
        });
      }
    });
  });
  return json.text();
}

void print(const std::vector<Track>& tracks, const PacedOptions& options, double rate) {
  fmt::print(
      "GET {} at {:.0f} requests/s over {} connections, {} round(s) of {} s; latencies from the "
      "time a request was "
      "due, median and range over the rounds\n",
      options.path, rate, options.connections, options.rounds, options.seconds);
  Table table({"server", "requests/s", "p50 µs", "p99 µs", "p99.9 µs", "max µs"});
  for (const Track& track : tracks) {
    table.add({track.server->name(), fmt::format("{:.0f}", track.rate()),
               with_range(track.percentile(50)), with_range(track.percentile(99)),
               with_range(track.percentile(99.9)),
               fmt::format("{:.0f}", micros(track.all().max()))});
  }
  fmt::print("{}", table.text());
  for (const Track& track : tracks) {
    if (track.late_p99() > kLateMicros) {
      fmt::print(
          "  note: {}: the client itself was {:.0f} µs late (p99); its core had other work, or the "
          "rate is too high\n",
          track.server->name(), track.late_p99());
    }
  }
}

}  // namespace

int paced(const PacedOptions& options) {
  const Load load{.path = options.path};
  const std::vector<ServerPlan> plans = plans_of(options.targets, load);
  for (const ServerPlan& plan : plans) require_server(plan);
  raise_descriptor_limit(static_cast<std::uint64_t>(options.connections) + 256);
  Stage stage(place(usable_cpus(), options.targets.workers));
  std::vector<Track> tracks;
  for (const ServerPlan& plan : plans) {
    Server& server = stage.server(plan);
    check(server, options.path, 0);
    tracks.push_back({.server = &server, .rounds = {}});
  }
  const double rate = options.rate > 0 ? options.rate : half_of_nginx(stage, options);
  move_to(stage.placement().load);
  for (int round = 0; round < options.rounds; ++round) {
    for (Track& track : tracks) {
      track.rounds.push_back(run_paced(track.server->port(), options.path, rate,
                                       std::chrono::seconds(options.seconds), options.connections,
                                       !stage.placement().shared()));
    }
  }
  if (options.json != "-") print(tracks, options, rate);
  if (!options.json.empty()) write_text(options.json, json_of(tracks, options, rate));
  return 0;
}

}  // namespace leantea::lab

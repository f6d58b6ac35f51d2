#include "report.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "confinement.hpp"
#include "history.hpp"
#include "json.hpp"
#include "table.hpp"

namespace leantea::lab {
namespace {

const std::string kDash = "–";

std::string with_interval(const std::optional<Interval>& interval, int digits) {
  if (!interval) return kDash;
  if (interval->count == 1) return fmt::format("{:.{}f}", interval->median, digits);
  return fmt::format("{:.{}f} ({:.{}f}–{:.{}f})", interval->median, digits, interval->low, digits,
                     interval->high, digits);
}

std::string plain(const std::optional<Interval>& interval, int digits) {
  return interval ? fmt::format("{:.{}f}", interval->median, digits) : kDash;
}

std::string cores(const std::vector<int>& cpus) {
  return fmt::format("{} {}", cpus.size() == 1 ? "core" : "cores", fmt::join(cpus, ","));
}

/// How a figure stands in a table: its head and its digits behind the point.
struct Column {
  Metric metric;
  std::string_view head;
  int digits;
};

constexpr Column kColumns[] = {{Metric::kCpuMicros, "CPU µs/request", 2},
                               {Metric::kRequestsPerSecond, "requests/s", 0},
                               {Metric::kP50, "p50 µs", 0},
                               {Metric::kP99, "p99 µs", 0},
                               {Metric::kServerBound, "requests/s, confined", 0},
                               {Metric::kBytesPerConnection, "bytes/connection", 0}};

bool known(const ContestResult& contest, Metric metric) {
  return std::ranges::any_of(contest.lanes, [metric](const Lane& lane) {
    return std::ranges::any_of(values_of(lane, metric), &std::optional<double>::has_value);
  });
}

/// The columns of a contest: the main figure first.
std::vector<Column> columns_of(const ContestResult& contest) {
  std::vector<Column> columns;
  for (const Column& column : kColumns) {
    if (known(contest, column.metric)) columns.push_back(column);
  }
  const auto main = std::ranges::find(columns, main_metric(contest), &Column::metric);
  if (main != columns.end()) std::rotate(columns.begin(), main, main + 1);
  return columns;
}

std::vector<std::string> references_in(const BenchReport& report, const ContestResult& contest) {
  std::vector<std::string> present;
  for (const std::string& name : report.references) {
    if (contest.lane(name) != nullptr) present.push_back(name);
  }
  return present;
}

double median_share(const Lane& lane) {
  std::vector<double> shares;
  for (const BlockRuns& block : lane.blocks) {
    if (block.confined) shares.push_back(block.confined->server_share);
  }
  return shares.empty() ? 0 : median(shares);
}

std::string blocks_in_words(const ContestResult& contest) {
  return fmt::format("{} {}", contest.orders.size(),
                     contest.orders.size() == 1 ? "block" : "blocks");
}

/// Remarks about one contest.
std::vector<std::string> remarks_on(const ContestResult& contest) {
  std::vector<std::string> remarks = contest.remarks;
  std::vector<std::string> limited;
  std::vector<std::string> shares;
  for (const Lane& lane : contest.lanes) {
    const std::set<std::string> reasons(lane.voids.begin(), lane.voids.end());
    if (!reasons.empty()) {
      remarks.push_back(fmt::format("{}: {} {} void ({}){}", lane.name, lane.voids.size(),
                                    lane.voids.size() == 1 ? "run was" : "runs were",
                                    fmt::join(reasons, "; "),
                                    lane.is_void() ? "" : " and repeated"));
    }
    if (!lane.is_void() && limited_by_client(lane)) limited.push_back(lane.name);
    if (const double share = median_share(lane); share > 0)
      shares.push_back(fmt::format("{} {:.0f} %", lane.name, share * 100));
  }
  if (!limited.empty()) {
    remarks.push_back(fmt::format(
        "limited by the client, whose core was full while the server's was not: requests/s and "
        "latencies of {}",
        fmt::join(limited, ", ")));
  }
  if (!shares.empty()) {
    remarks.push_back(
        fmt::format("confined servers had of their cores: {}", fmt::join(shares, ", ")));
  }
  const auto blocks = [](std::size_t count) {
    return fmt::format("{} {}", count, count == 1 ? "block was" : "blocks were");
  };
  if (!contest.disturbances.empty()) {
    remarks.push_back(fmt::format("{} disturbed and made again, the last because {}",
                                  blocks(contest.disturbances.size()),
                                  contest.disturbances.back()));
  }
  if (!contest.kept_disturbances.empty()) {
    remarks.push_back(fmt::format(
        "{} disturbed and kept even so, the last because {}: this machine is not quiet enough",
        blocks(contest.kept_disturbances.size()), contest.kept_disturbances.back()));
  }
  if (contest.orders.size() < kLeastForInterval) {
    remarks.push_back(
        fmt::format("{} blocks are too few for a verdict: in brackets is the range, "
                    "no interval (from {} blocks on)",
                    contest.orders.size(), kLeastForInterval));
  }
  return remarks;
}

std::vector<std::string> header_of(const ContestResult& contest,
                                   const std::vector<std::string>& references) {
  std::vector<std::string> header{"server"};
  const Metric main = main_metric(contest);
  for (const Column& column : columns_of(contest)) {
    header.emplace_back(column.head);
    if (column.metric != main) continue;
    for (const std::string& reference : references) header.push_back("÷ " + reference);
  }
  return header;
}

std::vector<std::string> cells_of(const BenchReport& report, const ContestResult& contest,
                                  const Lane& lane, const std::vector<std::string>& references) {
  std::vector<std::string> cells{lane.name};
  const Metric main = main_metric(contest);
  for (const Column& column : columns_of(contest)) {
    if (lane.is_void()) {
      cells.insert(cells.end(), column.metric == main ? 1 + references.size() : 1, "void");
      continue;
    }
    const auto figure = figure_of(lane, column.metric, report.confidence);
    cells.push_back(column.metric == main || column.metric == Metric::kP99
                        ? with_interval(figure, column.digits)
                        : plain(figure, column.digits));
    if (column.metric != main) continue;
    for (const std::string& reference : references) {
      cells.push_back(in_words(ratio_of(contest, lane, reference, main, report.confidence),
                               less_is_better(main)));
    }
  }
  return cells;
}

Table table_for(const BenchReport& report, const ContestResult& contest) {
  const std::vector<std::string> references = references_in(report, contest);
  Table table(header_of(contest, references));
  for (const Lane& lane : contest.lanes) table.add(cells_of(report, contest, lane, references));
  return table;
}

std::string list_of(const std::vector<std::string>& remarks) {
  std::string text = remarks.empty() ? "" : "\n";
  for (const std::string& remark : remarks) text += fmt::format("- {}\n", remark);
  return text;
}

std::string title_of(const ContestResult& contest) {
  std::string text = fmt::format("{}: {}", contest.name, contest.title);
  if (contest.rate > 0) text += fmt::format(", {:.0f} requests/s", contest.rate);
  return text;
}

// ---- JSON ----

/// Six digits are more than any figure here has.
double rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }

void write_interval(Json& json, std::string_view name, const std::optional<Interval>& interval,
                    std::optional<Verdict> verdict = {}) {
  if (!interval) return;
  json.object(name, [&] {
    json.field("median", rounded(interval->median));
    json.field("low", rounded(interval->low));
    json.field("high", rounded(interval->high));
    json.field("blocks", interval->count);
    if (verdict) json.field("verdict", name_of(*verdict));
  });
}

void write_sample(Json& json, const Sample& sample) {
  json.object([&] {
    json.field("requests", sample.load.requests);
    json.field("seconds", rounded(sample.load.seconds));
    json.field("requests_per_second", rounded(sample.load.requests_per_second));
    json.field("p50_us", rounded(sample.load.p50));
    json.field("p99_us", rounded(sample.load.p99));
    json.field("cpu_us_per_request", rounded(sample.cpu_micros_per_request()));
    json.field("server_share", rounded(sample.server_share));
    json.field("client_share", rounded(sample.load_share));
    json.field("server_cores_busy", rounded(sample.server_cores_busy));
    json.field("client_core_busy", rounded(sample.load_core_busy));
    json.field("steal", rounded(sample.stolen));
    if (sample.bytes_per_connection > 0)
      json.field("bytes_per_connection", rounded(sample.bytes_per_connection));
  });
}

void write_blocks(Json& json, const ContestResult& contest, const Lane& lane) {
  json.array("blocks", [&] {
    for (std::size_t i = 0; i < lane.blocks.size(); ++i) {
      json.object([&] {
        json.array("order", [&] {
          for (const std::string& name : contest.orders[i]) json.value(name);
        });
        json.array("runs", [&] {
          for (const Sample& sample : lane.blocks[i].samples) write_sample(json, sample);
        });
        if (lane.blocks[i].confined) {
          json.array("confined", [&] { write_sample(json, *lane.blocks[i].confined); });
        }
      });
    }
  });
}

void write_latency(Json& json, const Histogram& latency) {
  constexpr double kPercents[] = {1,  5,    10,   25,    50,    75,     90,     95,
                                  99, 99.5, 99.9, 99.95, 99.99, 99.995, 99.999, 100};
  constexpr double kNanosPerMicro = 1000;
  json.array("latency", [&] {
    for (const double percent : kPercents) {
      // A percentile of fewer values than it needs is the largest value once more.
      if (percent < 100 && static_cast<double>(latency.count()) * (100 - percent) < 100) continue;
      json.array([&] {
        json.value(percent);
        json.value(
            rounded(static_cast<double>(latency.percentile(percent).count()) / kNanosPerMicro));
      });
    }
  });
}

void write_lane(Json& json, const BenchReport& report, const ContestResult& contest,
                const Lane& lane) {
  json.object([&] {
    json.field("name", lane.name);
    if (!lane.backend.empty()) json.field("backend", lane.backend);
    json.field("load", describe(lane.load));
    json.field("void", lane.is_void());
    json.array("why_void", [&] {
      for (const std::string& why : lane.voids) json.value(why);
    });
    if (!lane.is_void()) {
      for (const Metric metric : kMetrics) {
        const auto interval = figure_of(lane, metric, report.confidence);
        if (metric != Metric::kServerBound) write_interval(json, name_of(metric), interval);
        if (metric != Metric::kServerBound || !interval) continue;
        json.object(name_of(metric), [&] {
          write_interval(json, "requests_per_second", interval);
          json.field("share", rounded(median_share(lane)));
        });
      }
      json.field("client_limited", limited_by_client(lane));
      json.object("ratio_to", [&] {
        for (const std::string& reference : references_in(report, contest)) {
          if (reference == lane.name || contest.lane(reference)->is_void()) continue;
          json.object(reference, [&] {
            for (const Metric metric : kMetrics) {
              const auto ratio = ratio_of(contest, lane, reference, metric, report.confidence);
              if (ratio)
                write_interval(json, name_of(metric), ratio, judge(*ratio, less_is_better(metric)));
            }
          });
        }
      });
    }
    if (contest.rate > 0) json.field("rate", rounded(contest.rate));
    if (lane.latency) write_latency(json, *lane.latency);
    write_blocks(json, contest, lane);
  });
}

void write_contest(Json& json, const BenchReport& report, const ContestResult& contest) {
  json.object([&] {
    json.field("name", contest.name);
    json.field("title", contest.title);
    if (!contest.lanes.empty()) {
      const Load& load = contest.lanes.front().load;
      json.field("tool", contest.rate > 0 ? "paced" : name_of(load.tool));
      json.field("connections", load.connections);
    }
    json.array("remarks", [&] {
      for (const std::string& remark : remarks_on(contest)) json.value(remark);
    });
    json.array("servers", [&] {
      for (const Lane& lane : contest.lanes) write_lane(json, report, contest, lane);
    });
  });
}

void write_commit(Json& json, const Commit& commit) {
  json.object("commit", [&] {
    json.field("id", commit.id);
    json.field("subject", commit.subject);
    json.field("author", commit.author);
    json.field("date", commit.date);
    if (!commit.url.empty()) json.field("url", commit.url);
    json.field("dirty", commit.dirty);
  });
}

void write_machine(Json& json, const Machine& machine) {
  json.object("machine", [&] {
    json.field("processor", machine.processor);
    json.field("cores", machine.cores);
    json.field("kernel", machine.kernel);
    json.field("system", machine.system);
    json.field("memory_mib", machine.memory_mib);
    json.object("mitigations", [&] {
      for (const Version& each : machine.mitigations) json.field(each.program, each.text);
    });
  });
}

// ---- The table of the backends ----

/// The mechanism in words, for the rows of the rounds table.
std::string mechanism_of(std::string_view name) {
  if (name == "libuv, no keep-alive") return "libuv, a new connection per request";
  if (name == "libuv") return "libuv, keep-alive";
  if (name == "threads") return "blocking threads, SO_REUSEPORT";
  if (name == "reactor") return "one thread, epoll";
  if (name == "uring") return "one thread, io_uring";
  if (name == "nginx") return "one worker, epoll";
  if (name == "floor") return "recv, count heads, send a constant";
  return "";
}

Table rounds_table(const ContestResult& contest) {
  Table table(
      {"round", "mechanism", "requests/s", "CPU µs/request", "requests/s ÷ nginx", "CPU ÷ nginx"});
  for (const Lane& lane : contest.lanes) {
    if (lane.is_void()) {
      table.add({lane.name, mechanism_of(lane.name), "void", "void", "void", "void"});
      continue;
    }
    table.add({lane.name, mechanism_of(lane.name),
               plain(figure_of(lane, Metric::kRequestsPerSecond), 0),
               with_interval(figure_of(lane, Metric::kCpuMicros), 2),
               with_interval(ratio_of(contest, lane, "nginx", Metric::kRequestsPerSecond), 2),
               with_interval(ratio_of(contest, lane, "nginx", Metric::kCpuMicros), 3)});
  }
  return table;
}

void write_rounds(Json& json, const ContestResult& contest) {
  json.array("rounds", [&] {
    for (const Lane& lane : contest.lanes) {
      if (lane.is_void()) continue;
      json.object([&] {
        json.field("name", lane.name);
        json.field("mechanism", mechanism_of(lane.name));
        for (const Metric metric : {Metric::kRequestsPerSecond, Metric::kCpuMicros})
          write_interval(json, name_of(metric), figure_of(lane, metric));
        json.object("to_nginx", [&] {
          for (const Metric metric : {Metric::kRequestsPerSecond, Metric::kCpuMicros})
            write_interval(json, name_of(metric), ratio_of(contest, lane, "nginx", metric));
        });
      });
    }
  });
}

std::string percent(double share) { return fmt::format("{:g} %", share * 100); }

}  // namespace

Metric main_metric(const ContestResult& contest) {
  if (known(contest, Metric::kBytesPerConnection)) return Metric::kBytesPerConnection;
  if (contest.rate > 0) return Metric::kP99;
  return known(contest, Metric::kCpuMicros) ? Metric::kCpuMicros : Metric::kRequestsPerSecond;
}

std::string in_words(const std::optional<Interval>& ratio, bool less_is_better) {
  if (!ratio) return kDash;
  std::string figures = with_interval(ratio, 3);
  if (!ratio->reliable()) return figures;
  return fmt::format("{} {}", figures, name_of(judge(*ratio, less_is_better)));
}

std::string heading(const BenchReport& report) {
  std::string text = fmt::format("{}\n{}\n", report.machine.date, in_one_line(report.machine));
  for (const Version& version : report.versions)
    text += fmt::format("{}: {}\n", version.program, version.text);
  text += fmt::format("servers on {}, load generator on {}; processor time from {}\n",
                      cores(report.placement.server), cores(report.placement.load),
                      describe(report.cpu_source));
  text += fmt::format(
      "medians over blocks (turns A B B A, servers started anew in each), in brackets the {} "
      "interval; "
      "equivalent: within ±{}\n",
      percent(report.confidence), percent(kMargin));
  if (report.placement.overlaps()) {
    text +=
        "SERVER AND LOAD GENERATOR SHARE A CORE: they take each other's time, requests/s and "
        "latencies are not meaningful\n";
  }
  return text;
}

std::string table_of(const BenchReport& report, const ContestResult& contest) {
  std::string text = fmt::format("{} ({})\n{}", title_of(contest), blocks_in_words(contest),
                                 table_for(report, contest).text());
  for (const std::string& remark : remarks_on(contest)) text += fmt::format("  note: {}\n", remark);
  return text;
}

std::string rounds_table_of(const ContestResult& contest) {
  std::string text = fmt::format("{} ({})\n{}", contest.title, blocks_in_words(contest),
                                 rounds_table(contest).text());
  for (const std::string& remark : remarks_on(contest)) text += fmt::format("  note: {}\n", remark);
  return text;
}

std::string markdown_of(const BenchReport& report) {
  std::string text = fmt::format(
      "Measured on {} on {} with `{}` (blocks of {:g} s for each server in turns A B B A, servers "
      "started anew; "
      "median and {} interval over the blocks, ratios taken within a block; equivalent: within "
      "±{}).\n",
      report.machine.date.substr(0, 10), in_one_line(report.machine), report.command,
      report.duration, percent(report.confidence), percent(kMargin));
  for (const ContestResult& contest : report.contests) {
    text += fmt::format("\n{} ({}):\n\n{}{}", title_of(contest), blocks_in_words(contest),
                        table_for(report, contest).markdown(), list_of(remarks_on(contest)));
  }
  if (report.rounds) {
    text +=
        fmt::format("\n{} ({}):\n\n{}{}", report.rounds->title, blocks_in_words(*report.rounds),
                    rounds_table(*report.rounds).markdown(), list_of(remarks_on(*report.rounds)));
  }
  return text + list_of(report.remarks);
}

std::string json_of(const BenchReport& report) {
  Json json;
  json.object([&] {
    json.field("format", kRunFormat);
    json.field("date", report.machine.date);
    json.field("command", report.command);
    if (report.commit) write_commit(json, *report.commit);
    write_machine(json, report.machine);
    json.object("versions", [&] {
      for (const Version& version : report.versions) json.field(version.program, version.text);
      json.field("compiler", report.machine.compiler);
    });
    json.array("server_cores", [&] {
      for (const int cpu : report.placement.server) json.value(cpu);
    });
    json.array("client_cores", [&] {
      for (const int cpu : report.placement.load) json.value(cpu);
    });
    json.field("cpu_time_from", describe(report.cpu_source));
    json.object("method", [&] {
      json.field("order", "A B B A");
      std::size_t most = 0;
      for (const ContestResult& contest : report.contests)
        most = std::max(most, contest.orders.size());
      json.field("blocks", most);
      json.field("seconds", report.duration);
      json.field("confidence", report.confidence);
      json.field("margin", kMargin);
    });
    json.field("seconds", rounded(report.elapsed));
    json.array("scenarios", [&] {
      for (const ContestResult& contest : report.contests) write_contest(json, report, contest);
    });
    if (report.rounds) write_rounds(json, *report.rounds);
    json.array("remarks", [&] {
      for (const std::string& remark : report.remarks) json.value(remark);
    });
  });
  return json.text();
}

}  // namespace leantea::lab

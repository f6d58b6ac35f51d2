#include "report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "json.hpp"
#include "table.hpp"

namespace leantea::lab {
namespace {

// Other programs on a core beyond this are worth a remark.
constexpr double kDisturbed = 0.05;

const std::string kDash = "–";

std::string with_range(const std::optional<Summary>& summary, int digits) {
  if (!summary) return kDash;
  if (summary->count == 1) return fmt::format("{:.{}f}", summary->median, digits);
  return fmt::format("{:.{}f} ({:.{}f}–{:.{}f})", summary->median, digits, summary->min, digits,
                     summary->max, digits);
}

std::string plain(const std::optional<Summary>& summary, int digits) {
  return summary ? fmt::format("{:.{}f}", summary->median, digits) : kDash;
}

std::optional<Summary> summary_of(const Row& row, Metric metric) {
  return summarize(values_of(row, metric));
}

std::optional<Summary> ratio_of(const ContestResult& contest, const Row& row,
                                std::string_view reference, Metric metric) {
  const Row* base = contest.row(reference);
  if (base == nullptr || base == &row) return std::nullopt;
  return summarize(paired_ratios(values_of(row, metric), values_of(*base, metric)));
}

std::string cores(const std::vector<int>& cpus) {
  return fmt::format("{} {}", cpus.size() == 1 ? "core" : "cores", fmt::join(cpus, ","));
}

/// Remarks about one contest.
std::vector<std::string> remarks_on(const ContestResult& contest) {
  std::vector<std::string> remarks;
  std::vector<std::string> limited;
  OtherWork most;
  for (const Row& row : contest.rows) {
    for (const std::string& why : row.voids) {
      remarks.push_back(fmt::format("{}: a run was void ({}){}", row.name, why,
                                    row.is_void() ? "" : " and was repeated"));
    }
    if (row.is_void()) continue;
    if (limited_by_client(row)) limited.push_back(row.name);
    most.server_cores = std::max(most.server_cores, other_work(row).server_cores);
    most.load_core = std::max(most.load_core, other_work(row).load_core);
  }
  if (most.server_cores > kDisturbed || most.load_core > kDisturbed) {
    remarks.push_back(fmt::format(
        "other programs took up to {:.0f} % of the server's core and {:.0f} % of the client's",
        most.server_cores * 100, most.load_core * 100));
  }
  if (!limited.empty()) {
    remarks.push_back(
        fmt::format("limited by the client, whose core was full while the server's was not: "
                    "requests/s and latencies of {}",
                    fmt::join(limited, ", ")));
  }
  return remarks;
}

/// References that took part in any of `contests`.
std::vector<std::string> references_in(const std::vector<const ContestResult*>& contests) {
  std::vector<std::string> present;
  for (const std::string_view reference : kReferences) {
    const bool there = std::ranges::any_of(
        contests, [&](const ContestResult* c) { return c->row(reference) != nullptr; });
    if (there) present.emplace_back(reference);
  }
  return present;
}

std::vector<std::string> cells_of(const ContestResult& contest, const Row& row,
                                  const std::vector<std::string>& references) {
  std::vector<std::string> cells{row.name};
  if (row.is_void()) {
    cells.insert(cells.end(), 4 + references.size(), "void");
    return cells;
  }
  cells.push_back(plain(summary_of(row, Metric::kRequestsPerSecond), 0));
  cells.push_back(plain(summary_of(row, Metric::kP50), 0));
  cells.push_back(plain(summary_of(row, Metric::kP99), 0));
  cells.push_back(with_range(summary_of(row, Metric::kCpuMicros), 2));
  for (const std::string& reference : references) {
    cells.push_back(with_range(ratio_of(contest, row, reference, Metric::kCpuMicros), 3));
  }
  return cells;
}

std::vector<std::string> header_of(std::vector<std::string> first,
                                   const std::vector<std::string>& references) {
  first.insert(first.end(), {"requests/s", "p50 µs", "p99 µs", "CPU µs/request"});
  for (const std::string& reference : references) first.push_back("CPU ÷ " + reference);
  return first;
}

/// The remarks under a table on the terminal.
std::string notes_on(const ContestResult& contest) {
  std::string text;
  for (const std::string& remark : remarks_on(contest)) text += fmt::format("  note: {}\n", remark);
  return text;
}

/// What stands above a table in a document.
std::string introduction(const BenchReport& report) {
  return fmt::format(
      "Measured on {} on {} with `{}` ({} rounds of {} s, interleaved; median, in brackets the "
      "range over the rounds; "
      "ratios are taken within a round).\n\n",
      report.machine.date.substr(0, 10), in_one_line(report.machine), report.command, report.rounds,
      report.seconds);
}

/// Remarks as a list under a table in a document.
std::string list_of(const std::vector<std::string>& remarks) {
  std::string text = remarks.empty() ? "" : "\n";
  for (const std::string& remark : remarks) text += fmt::format("- {}\n", remark);
  return text;
}

// ---- JSON ----

void write_summary(Json& json, std::string_view name, const std::optional<Summary>& summary) {
  if (!summary) return;
  json.object(name, [&] {
    json.field("median", summary->median);
    json.field("min", summary->min);
    json.field("max", summary->max);
    json.field("deviation", summary->deviation);
    json.field("rounds", summary->count);
  });
}

void write_metrics(Json& json, const auto& summary) {
  write_summary(json, "requests_per_second", summary(Metric::kRequestsPerSecond));
  write_summary(json, "p50_us", summary(Metric::kP50));
  write_summary(json, "p99_us", summary(Metric::kP99));
  write_summary(json, "cpu_us_per_request", summary(Metric::kCpuMicros));
}

void write_sample(Json& json, const Sample& sample) {
  json.object([&] {
    json.field("requests", sample.load.requests);
    json.field("seconds", sample.load.seconds);
    json.field("requests_per_second", sample.load.requests_per_second);
    json.field("p50_us", sample.load.p50);
    json.field("p99_us", sample.load.p99);
    json.field("server_cpu_s", std::chrono::duration<double>(sample.server_cpu).count());
    json.field("cpu_us_per_request", sample.cpu_micros_per_request());
    json.field("server_share", sample.server_share);
    json.field("server_cores_busy", sample.server_cores_busy);
    json.field("client_share", sample.load_share);
    json.field("client_core_busy", sample.load_core_busy);
  });
}

void write_load(Json& json, const Load& load) {
  json.object("load", [&] {
    json.field("tool", name_of(load.tool));
    json.field("traffic", name_of(load.traffic));
    json.field("path", load.path);
    json.field("connections", load.connections);
    if (load.tool == Tool::kWrk) json.field("seconds", load.duration.count());
    if (load.tool == Tool::kAb) json.field("requests", load.requests);
    if (load.traffic == Traffic::kEcho) json.field("content_bytes", load.content_bytes);
  });
}

void write_row(Json& json, const ContestResult& contest, const Row& row) {
  json.object([&] {
    json.field("server", row.name);
    write_load(json, row.load);
    json.field("void", row.is_void());
    json.array("void_runs", [&] {
      for (const std::string& why : row.voids) json.value(why);
    });
    json.field("limited_by_client", limited_by_client(row));
    json.field("others_on_server_cores", other_work(row).server_cores);
    json.field("others_on_client_core", other_work(row).load_core);
    write_metrics(json, [&](Metric metric) { return summary_of(row, metric); });
    json.object("ratio_to", [&] {
      for (const std::string_view reference : kReferences) {
        if (contest.row(reference) == nullptr || row.name == reference) continue;
        json.object(reference, [&] {
          write_metrics(json,
                        [&](Metric metric) { return ratio_of(contest, row, reference, metric); });
        });
      }
    });
    json.array("rounds", [&] {
      for (const auto& sample : row.rounds) {
        if (sample) {
          write_sample(json, *sample);
        } else {
          json.null();
        }
      }
    });
  });
}

void write_machine(Json& json, const Machine& machine) {
  json.object("machine", [&] {
    json.field("processor", machine.processor);
    json.field("cores", machine.cores);
    json.field("kernel", machine.kernel);
    json.field("system", machine.system);
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
  for (const Row& row : contest.rows) {
    if (row.is_void()) {
      table.add({row.name, mechanism_of(row.name), "void", "void", "void", "void"});
      continue;
    }
    table.add({row.name, mechanism_of(row.name),
               plain(summary_of(row, Metric::kRequestsPerSecond), 0),
               with_range(summary_of(row, Metric::kCpuMicros), 2),
               with_range(ratio_of(contest, row, "nginx", Metric::kRequestsPerSecond), 2),
               with_range(ratio_of(contest, row, "nginx", Metric::kCpuMicros), 3)});
  }
  return table;
}

}  // namespace

std::string heading(const BenchReport& report) {
  std::string text = fmt::format("{}\n{}\n", report.machine.date, in_one_line(report.machine));
  for (const Version& version : report.versions)
    text += fmt::format("{}: {}\n", version.program, version.text);
  text += fmt::format("servers on {}, load generator on {}; processor time from {}\n",
                      cores(report.placement.server), cores(report.placement.load),
                      describe(report.cpu_source));
  if (report.placement.shared()) {
    text +=
        "ONE CORE FOR BOTH: server and load generator take each other's time, the figures are not "
        "meaningful\n";
  }
  return text;
}

std::string table_of(const ContestResult& contest) {
  const std::vector<std::string> references = references_in({&contest});
  const std::size_t rounds = contest.rows.empty() ? 0 : contest.rows.front().rounds.size();
  std::string text = fmt::format("{} ({} {}, median and range)\n", contest.title, rounds,
                                 rounds == 1 ? "round" : "rounds");
  Table table(header_of({"server"}, references));
  for (const Row& row : contest.rows) table.add(cells_of(contest, row, references));
  text += table.text();
  return text + notes_on(contest);
}

std::string rounds_table_of(const ContestResult& contest) {
  return fmt::format("{}\n{}{}", contest.title, rounds_table(contest).text(), notes_on(contest));
}

std::string rounds_markdown_of(const BenchReport& report) {
  std::string text = introduction(report);
  std::vector<std::string> remarks = report.remarks;
  for (const ContestResult& contest : report.contests) {
    text += rounds_table(contest).markdown();
    for (const std::string& remark : remarks_on(contest)) remarks.push_back(remark);
  }
  return text + list_of(remarks);
}

std::string markdown_of(const BenchReport& report) {
  std::vector<const ContestResult*> all;
  all.reserve(report.contests.size());
  for (const ContestResult& contest : report.contests) all.push_back(&contest);
  const std::vector<std::string> references = references_in(all);
  Table table(header_of({"load", "server"}, references));
  std::vector<std::string> remarks = report.remarks;
  for (const ContestResult& contest : report.contests) {
    for (const Row& row : contest.rows) {
      std::vector<std::string> cells = cells_of(contest, row, references);
      cells.insert(cells.begin(), contest.title);
      table.add(std::move(cells));
    }
    for (const std::string& remark : remarks_on(contest))
      remarks.push_back(contest.title + ": " + remark);
  }
  return introduction(report) + table.markdown() + list_of(remarks);
}

std::string json_of(const BenchReport& report) {
  Json json;
  json.object([&] {
    json.field("command", report.command);
    json.field("date", report.machine.date);
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
    json.field("rounds", report.rounds);
    json.field("seconds", report.seconds);
    json.array("contests", [&] {
      for (const ContestResult& contest : report.contests) {
        json.object([&] {
          json.field("title", contest.title);
          json.array("servers", [&] {
            for (const Row& row : contest.rows) write_row(json, contest, row);
          });
        });
      }
    });
    json.array("remarks", [&] {
      for (const std::string& remark : report.remarks) json.value(remark);
    });
  });
  return json.text();
}

}  // namespace leantea::lab

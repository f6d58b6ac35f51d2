#include "load.hpp"

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>

#include "failure.hpp"
#include "files.hpp"
#include "interrupt.hpp"
#include "process.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

constexpr std::uint64_t kClientDescriptors = 65536;
// Beyond the planned length, before a client counts as stuck.
constexpr std::chrono::seconds kPatience{10};

std::string script_of(Traffic traffic) {
  switch (traffic) {
    case Traffic::kPipelined:
      return "load/pipelined.lua";
    case Traffic::kBrowser:
      return "load/browser.lua";
    case Traffic::kEcho:
      return "load/echo.lua";
    case Traffic::kPlain:
    case Traffic::kNewConnections:
      break;
  }
  return "load/plain.lua";
}

std::string write_file(const std::string& path, std::string_view text) {
  std::ofstream(path) << text;
  return path;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string url_of(const Load& load, std::uint16_t port) {
  return fmt::format("http://127.0.0.1:{}{}", port, load.path);
}

std::vector<std::string> wrk_words(const Load& load, std::uint16_t port,
                                   const std::string& directory) {
  const std::string script =
      write_file(directory + "/load.lua",
                 fmt::format("{}\n{}", file(script_of(load.traffic)), file("load/report.lua")));
  std::vector<std::string> words{"wrk",
                                 "-t1",
                                 fmt::format("-c{}", load.connections),
                                 fmt::format("-d{}s", load.duration.count()),
                                 "--timeout",
                                 "10s",
                                 "-s",
                                 script};
  if (load.traffic == Traffic::kNewConnections)
    words.insert(words.end(), {"-H", "Connection: close"});
  words.push_back(url_of(load, port));
  if (load.traffic == Traffic::kPipelined)
    words.insert(words.end(), {"--", std::to_string(kPipelineDepth)});
  if (load.traffic == Traffic::kEcho)
    words.insert(words.end(), {"--", std::to_string(load.content_bytes)});
  return words;
}

std::vector<std::string> ab_words(const Load& load, std::uint16_t port,
                                  const std::string& directory) {
  std::vector<std::string> words{"ab", "-q",
                                 "-s", "5",
                                 "-c", std::to_string(load.connections),
                                 "-n", std::to_string(load.requests),
                                 "-e", directory + "/ab.csv"};
  if (load.traffic != Traffic::kNewConnections) words.emplace_back("-k");
  if (load.traffic == Traffic::kEcho) {
    const std::string content(load.content_bytes, 'x');
    words.insert(words.end(), {"-T", "application/octet-stream", "-p",
                               write_file(directory + "/content", content)});
  }
  words.push_back(url_of(load, port));
  return words;
}

/// The first number behind `label` in `text`, wherever the label stands.
double number_behind(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == std::string_view::npos) return 0;
  return number_or<double>(trimmed(text.substr(at + label.size())), 0);
}

std::uint64_t count_behind(std::string_view text, std::string_view label) {
  return static_cast<std::uint64_t>(number_behind(text, label));
}

/// `name=number` pairs of the line that load/report.lua prints.
std::map<std::string_view, std::uint64_t> report_line(std::string_view output) {
  std::map<std::string_view, std::uint64_t> values;
  const std::size_t at = output.rfind("lab: ");
  if (at == std::string_view::npos) return values;
  for (const std::string_view word : words_of(output.substr(at, output.find('\n', at) - at))) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) continue;
    values[word.substr(0, equals)] = number_or<std::uint64_t>(word.substr(equals + 1), 0);
  }
  return values;
}

/// The latency in microseconds at `percent` in ab's file of lines `percent,milliseconds`.
double ab_percentile(std::string_view file, int percent) {
  for (const std::string_view line : split(file, '\n')) {
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos || number_or<int>(line.substr(0, comma), -1) != percent)
      continue;
    return number_or<double>(line.substr(comma + 1), 0) * 1000;
  }
  return 0;
}

}  // namespace

std::string_view name_of(Tool tool) { return tool == Tool::kWrk ? "wrk" : "ab"; }

std::string_view name_of(Traffic traffic) {
  switch (traffic) {
    case Traffic::kPlain:
      return "plain";
    case Traffic::kPipelined:
      return "pipelined";
    case Traffic::kBrowser:
      return "browser";
    case Traffic::kNewConnections:
      return "new-connections";
    case Traffic::kEcho:
      return "echo";
  }
  return "";
}

std::string describe(const Load& load) {
  std::string text = fmt::format("{}, {} connections, {} {}", name_of(load.tool), load.connections,
                                 load.traffic == Traffic::kEcho ? "POST" : "GET", load.path);
  if (load.traffic == Traffic::kPipelined) text += fmt::format(", {} pipelined", kPipelineDepth);
  if (load.traffic == Traffic::kBrowser) text += ", 8 browser fields";
  if (load.traffic == Traffic::kNewConnections) text += ", a new connection per request";
  if (load.traffic == Traffic::kEcho) text += fmt::format(", {} bytes", load.content_bytes);
  return text;
}

std::string fault_of(const LoadResult& result) {
  if (result.requests == 0) return "no request was answered";
  if (result.bad_status > 0) return fmt::format("{} answers were not 2xx", result.bad_status);
  return fmt::format("{} socket errors", result.socket_errors);
}

LoadResult parse_wrk(std::string_view output) {
  auto line = report_line(output);
  if (!line.contains("requests")) {
    throw Failure(
        fmt::format("wrk did not report a result, but this: {}", trimmed(output.substr(0, 200))));
  }
  LoadResult result{
      .requests = line["requests"],
      .seconds = static_cast<double>(line["duration"]) / 1e6,
      .p50 = static_cast<double>(line["p50"]),
      .p99 = static_cast<double>(line["p99"]),
      .bad_status = line["status"],
      .socket_errors = line["connect"] + line["read"] + line["write"] + line["timeout"]};
  if (result.seconds > 0)
    result.requests_per_second = static_cast<double>(result.requests) / result.seconds;
  return result;
}

LoadResult parse_ab(std::string_view output, std::string_view percentiles) {
  if (output.find("Complete requests:") == std::string_view::npos) {
    throw Failure(
        fmt::format("ab did not report a result, but this: {}", trimmed(output.substr(0, 200))));
  }
  return {.requests = count_behind(output, "Complete requests:"),
          .seconds = number_behind(output, "Time taken for tests:"),
          .requests_per_second = number_behind(output, "Requests per second:"),
          .p50 = ab_percentile(percentiles, 50),
          .p99 = ab_percentile(percentiles, 99),
          .bad_status = count_behind(output, "Non-2xx responses:"),
          .socket_errors =
              count_behind(output, "Failed requests:") + count_behind(output, "Write errors:")};
}

LoadResult run_load(const Load& load, std::uint16_t port, const std::vector<int>& cpus,
                    const std::string& directory) {
  const bool wrk = load.tool == Tool::kWrk;
  Process client({.words = wrk ? wrk_words(load, port, directory) : ab_words(load, port, directory),
                  .cpus = cpus,
                  .descriptors = kClientDescriptors});
  const auto exit = client.wait_until(Clock::now() + load.duration + kPatience);
  if (!exit) throw Failure(fmt::format("{} did not end in time", name_of(load.tool)));
  if (exit->code != 0) {
    throw Failure(fmt::format("{} failed: {}", name_of(load.tool),
                              trimmed(client.errors() + client.output())));
  }
  LoadResult result = wrk ? parse_wrk(client.output())
                          : parse_ab(client.output(), read_file(directory + "/ab.csv"));
  result.cpu = exit->cpu;
  return result;
}

}  // namespace leantea::lab

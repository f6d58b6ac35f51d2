#include "load.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
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
constexpr std::chrono::hours kLongest{1};
constexpr std::chrono::milliseconds kAgain{500};

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
  return fmt::format("http://127.0.0.1:{}{}", port, load.first().target);
}

/// `text` as a string of Lua.
std::string in_lua(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
    if (plain) {
      quoted += c;
    } else {
      quoted += fmt::format("\\{:03}", static_cast<unsigned char>(c));
    }
  }
  return quoted + '"';
}

/// One request for all: wrk builds it once and calls no Lua in the run.
std::string static_script(const RequestSpec& request) {
  std::string script = fmt::format("wrk.method = {}\n", in_lua(request.method));
  for (const std::string& field : request.fields) {
    const std::size_t colon = field.find(':');
    script += fmt::format("wrk.headers[{}] = {}\n", in_lua(field.substr(0, colon)),
                          in_lua(trimmed(std::string_view(field).substr(colon + 1))));
  }
  if (!request.content.empty()) script += fmt::format("wrk.body = {}\n", in_lua(request.content));
  return script;
}

/// The requests in turn. Each thread of wrk has its own turn, so with n requests per connection it is one of n
/// that closes its connection: n in the mean, and not all connections at once.
std::string turning_script(const Load& load, std::uint16_t port) {
  std::string script = "local writes = {\n";
  const std::size_t turns = static_cast<std::size_t>(std::max(load.requests_per_connection, 1));
  const std::size_t writes = std::lcm(load.requests.size(), turns);
  for (std::size_t i = 0; i < writes; ++i) {
    const bool closing = load.requests_per_connection > 0 && (i + 1) % turns == 0;
    std::string bytes;
    for (int n = 0; n < load.pipeline; ++n)
      bytes += bytes_of(load.requests[i % load.requests.size()], port, closing);
    script += fmt::format("  {},\n", in_lua(bytes));
  }
  return script +
         "}\n"
         "local turn = 0\n"
         "function request()\n"
         "  turn = turn % #writes + 1\n"
         "  return writes[turn]\n"
         "end\n";
}

std::string wrk_script(const Load& load, std::uint16_t port) {
  const bool always_the_same = load.requests.size() == 1 && !load.first().chunked &&
                               load.pipeline == 1 && load.requests_per_connection <= 1;
  return (always_the_same ? static_script(load.first()) : turning_script(load, port)) +
         std::string(file("load/report.lua"));
}

std::vector<std::string> wrk_words(const Load& load, std::uint16_t port,
                                   const std::string& directory) {
  std::filesystem::create_directories(directory);
  const std::string script = write_file(directory + "/load.lua", wrk_script(load, port));
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(load.duration);
  std::vector<std::string> words{"wrk",
                                 fmt::format("-t{}", load.threads),
                                 fmt::format("-c{}", load.connections),
                                 fmt::format("-d{}s", seconds.count()),
                                 "--timeout",
                                 "10s",
                                 "-s",
                                 script};
  if (load.requests_per_connection == 1) words.insert(words.end(), {"-H", "Connection: close"});
  words.push_back(url_of(load, port));
  return words;
}

std::vector<std::string> ab_words(const Load& load, std::uint16_t port,
                                  const std::string& directory) {
  std::vector<std::string> words{"ab", "-q",
                                 "-s", "5",
                                 "-c", std::to_string(load.connections),
                                 "-n", std::to_string(load.count),
                                 "-e", directory + "/ab.csv"};
  const RequestSpec& request = load.first();
  if (load.requests_per_connection != 1) words.emplace_back("-k");
  for (const std::string& field : request.fields) words.insert(words.end(), {"-H", field});
  if (request.method == "POST") {
    words.insert(words.end(), {"-T", "application/octet-stream", "-p",
                               write_file(directory + "/content", request.content)});
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

std::string_view RequestSpec::route() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string bytes_of(const RequestSpec& request, std::uint16_t port, bool closing) {
  std::string bytes =
      fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", request.method, request.target, port);
  for (const std::string& field : request.fields) bytes += field + "\r\n";
  if (closing) bytes += "Connection: close\r\n";
  if (request.chunked) {
    return bytes + fmt::format("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                               request.content.size(), request.content);
  }
  if (!request.content.empty() || request.method == "POST")
    bytes += fmt::format("Content-Length: {}\r\n", request.content.size());
  return bytes + "\r\n" + request.content;
}

std::vector<std::string> Load::routes() const {
  std::vector<std::string> all;
  for (const RequestSpec& request : requests) {
    if (std::ranges::find(all, request.route()) == all.end()) all.emplace_back(request.route());
  }
  return all;
}

std::string describe(const Load& load) {
  std::string text = fmt::format("{}, {} {}, {} {}", name_of(load.tool), load.connections,
                                 load.connections == 1 ? "connection" : "connections",
                                 load.first().method, load.first().target);
  if (load.requests.size() > 1) text += fmt::format(" and {} others", load.requests.size() - 1);
  if (!load.first().content.empty()) text += fmt::format(", {} bytes", load.first().content.size());
  if (!load.first().fields.empty())
    text += fmt::format(", {} {}", load.first().fields.size(),
                        load.first().fields.size() == 1 ? "field" : "fields");
  if (load.pipeline > 1) text += fmt::format(", {} pipelined", load.pipeline);
  if (load.requests_per_connection == 1) text += ", a new connection per request";
  if (load.requests_per_connection > 1)
    text += fmt::format(", a new connection after {} requests", load.requests_per_connection);
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

namespace {

/// The end of a client that was told to end, and what it said.
LoadResult result_of(Process& client, const Load& load, Clock::time_point deadline,
                     const std::string& directory) {
  const auto exit = client.wait_until(deadline);
  if (!exit) throw Failure(fmt::format("{} did not end in time", name_of(load.tool)));
  if (exit->code != 0) {
    throw Failure(fmt::format("{} failed with code {}: {}", name_of(load.tool), exit->code,
                              trimmed(client.errors() + client.output())));
  }
  LoadResult result = load.tool == Tool::kWrk
                          ? parse_wrk(client.output())
                          : parse_ab(client.output(), read_file(directory + "/ab.csv"));
  result.cpu = exit->cpu;
  return result;
}

}  // namespace

LoadResult run_load(const Load& load, std::uint16_t port, const std::vector<int>& cpus,
                    const std::string& directory) {
  const bool wrk = load.tool == Tool::kWrk;
  Process client({.words = wrk ? wrk_words(load, port, directory) : ab_words(load, port, directory),
                  .cpus = cpus,
                  .descriptors = kClientDescriptors});
  const auto end = Clock::now() + load.duration;
  // wrk itself knows only whole seconds, but ends well on Ctrl-C.
  const bool whole_seconds = load.duration % std::chrono::seconds(1) == std::chrono::seconds(0);
  if (wrk && !whole_seconds && !client.wait_until(end)) client.interrupt();
  return result_of(client, load, end + kPatience, directory);
}

RestingLoad::RestingLoad(const Load& load, std::uint16_t port, const std::vector<int>& cpus,
                         const std::string& directory)
    : load_(load) {
  load_.duration = kLongest;  // until it is told
  command_ = {
      .words = wrk_words(load_, port, directory), .cpus = cpus, .descriptors = kClientDescriptors};
}

void RestingLoad::take_turn(std::chrono::milliseconds time) {
  const auto start = Clock::now();
  if (client_) {
    client_->resume();
  } else {
    client_.emplace(command_);
  }
  const bool ended = client_->wait_until(start + time).has_value();
  client_->pause();
  active_ += Clock::now() - start;
  if (ended) throw Failure("wrk ended early: " + client_->errors() + client_->output());
}

LoadResult RestingLoad::finish() {
  if (!client_) throw Failure("wrk had no turn");
  const auto start = Clock::now();
  client_->resume();
  // wrk looks only now and then whether it has to end, and works on until then. A signal that comes before it waits for
  // the end is forgotten, so it is sent again.
  do {
    client_->interrupt();
  } while (!client_->wait_until(Clock::now() + kAgain) && Clock::now() < start + kPatience);
  active_ += Clock::now() - start;
  LoadResult result = result_of(*client_, load_, Clock::now(), {});
  result.seconds = active_.count();
  result.requests_per_second = static_cast<double>(result.requests) / result.seconds;
  result.p50 = 0;
  result.p99 = 0;
  return result;
}

}  // namespace leantea::lab

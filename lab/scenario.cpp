#include "scenario.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <fmt/format.h>

#include "failure.hpp"
#include "files.hpp"
#include "table.hpp"
#include "toml_file.hpp"

namespace leantea::lab {
namespace {

// The order of the report: what says most first.
constexpr std::array kFiles = {"health",       "json",           "echo-5",       "echo-1k",
                               "echo-64k",     "echo-1m",        "mix",          "browser-headers",
                               "pipelined-16", "new-connection", "reconnect-10", "connections",
                               "ab-health",    "paced",          "idle-15k",     "slow-reader"};

constexpr std::int64_t kMostConnections = 60'000;
constexpr std::int64_t kMostContent = 16 * 1024 * 1024;
constexpr std::int64_t kMostPipelined = 1000;

int whole(const TomlTable& table, std::string_view key, std::int64_t otherwise, std::int64_t least,
          std::int64_t most) {
  const std::int64_t value = table.integer_or(key, otherwise);
  if (value < least || value > most)
    table.reject(key, fmt::format("{} must be from {} to {}", key, least, most));
  return static_cast<int>(value);
}

RequestSpec request_from(const TomlTable& table) {
  table.allow_only({"method", "target", "fields", "content", "content-bytes", "chunked"});
  RequestSpec request{.method = table.text_or("method", "GET"),
                      .target = table.text("target"),
                      .fields = table.texts("fields"),
                      .content = table.text_or("content", ""),
                      .chunked = table.truth_or("chunked", false)};
  if (!request.target.starts_with('/')) table.reject("target", "target must start with /");
  for (const std::string& field : request.fields) {
    if (field.find(':') == std::string::npos || field.find_first_of("\r\n") != std::string::npos)
      table.reject("fields", fmt::format("'{}' is not of the form Name: value", field));
  }
  if (table.has("content-bytes")) {
    if (table.has("content"))
      table.reject("content-bytes", "content and content-bytes exclude each other");
    request.content.assign(
        static_cast<std::size_t>(whole(table, "content-bytes", 0, 0, kMostContent)), 'x');
  }
  return request;
}

Scenario::Kind kind_from(const TomlTable& table) {
  const std::string name = table.text_or("kind", "throughput");
  for (const auto kind : {Scenario::Kind::kThroughput, Scenario::Kind::kPaced,
                          Scenario::Kind::kIdle, Scenario::Kind::kSlowReader}) {
    if (name == name_of(kind)) return kind;
  }
  table.reject("kind", "kind must be throughput, paced, idle or slow-reader");
}

Tool tool_from(const TomlTable& table) {
  const std::string name = table.text_or("tool", "wrk");
  if (name != "wrk" && name != "ab") table.reject("tool", "tool must be wrk or ab");
  return name == "ab" ? Tool::kAb : Tool::kWrk;
}

/// ab and the lab's own clients send one kind of request, one at a time.
void check_ability(const TomlTable& table, const Scenario& scenario) {
  const Load& load = scenario.load;
  if (scenario.kind == Scenario::Kind::kThroughput && load.tool == Tool::kWrk) return;
  const std::string who = load.tool == Tool::kAb ? "ab" : std::string(name_of(scenario.kind));
  if (load.requests.size() > 1 || load.pipeline > 1 || load.requests_per_connection > 1 ||
      load.first().chunked) {
    table.reject("request", who + " takes one request, not pipelined and not in chunks");
  }
}

Scenario scenario_from(const TomlTable& table) {
  table.allow_only({"title", "description", "kind", "sets", "tool", "connections", "pipeline",
                    "requests-per-connection", "shares", "slow-readers", "server-bound",
                    "request"});
  Scenario scenario{.name = {},
                    .title = table.text("title"),
                    .description = table.text("description"),
                    .kind = kind_from(table),
                    .sets = table.texts("sets"),
                    .load = {},
                    .shares = table.numbers("shares"),
                    .slow_readers = whole(table, "slow-readers", 0, 0, kMostConnections),
                    .server_bound = table.truth_or("server-bound", false)};
  for (const std::string& set : scenario.sets) {
    if (set != "quick" && set != "standard")
      table.reject("sets", fmt::format("'{}' is no set: quick, standard", set));
  }
  Load& load = scenario.load;
  load.tool = tool_from(table);
  load.pipeline = whole(table, "pipeline", 1, 1, kMostPipelined);
  load.requests_per_connection =
      whole(table, "requests-per-connection", 0, 0, std::numeric_limits<int>::max());
  load.requests.clear();
  for (const TomlTable& request : table.tables("request"))
    load.requests.push_back(request_from(request));
  if (load.requests.empty()) table.reject("request", "there is no [[request]]");
  for (const double share : scenario.shares) {
    if (share <= 0 || share > 1) table.reject("shares", "shares must be above 0 and at most 1");
  }
  if (scenario.kind == Scenario::Kind::kPaced && scenario.shares.empty())
    table.reject("shares", "a paced scenario needs shares");
  if (scenario.kind == Scenario::Kind::kSlowReader && scenario.slow_readers == 0)
    table.reject("slow-readers", "a slow-reader scenario needs slow-readers");
  check_ability(table, scenario);
  return scenario;
}

std::vector<Scenario> read_scenarios(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Failure(fmt::format("cannot read the scenario {}", path), kExitUsage);
  std::ostringstream text;
  text << file.rdbuf();
  return parse_scenarios(text.str(), std::filesystem::path(path).stem().string());
}

std::string words_of(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

bool Scenario::in_set(std::string_view set) const {
  return set == "all" || std::ranges::find(sets, set) != sets.end();
}

std::string_view name_of(Scenario::Kind kind) {
  switch (kind) {
    case Scenario::Kind::kThroughput:
      return "throughput";
    case Scenario::Kind::kPaced:
      return "paced";
    case Scenario::Kind::kIdle:
      return "idle";
    case Scenario::Kind::kSlowReader:
      return "slow-reader";
  }
  return "";
}

std::vector<Scenario> parse_scenarios(std::string_view text, const std::string& name) {
  const TomlTable table = TomlTable::parse(text, name + ".toml");
  const Scenario scenario = scenario_from(table);
  const auto counts = table.integers("connections");
  if (counts.empty()) table.reject("connections", "connections must be a list of at least one");
  std::vector<Scenario> all;
  for (const std::int64_t count : counts) {
    if (count < 1 || count > kMostConnections)
      table.reject("connections",
                   fmt::format("connections must be from 1 to {}", kMostConnections));
    all.push_back(scenario);
    all.back().name = name;
    if (counts.size() > 1) {  // titles tell them apart, too
      all.back().name += fmt::format("-{}", count);
      all.back().title += fmt::format(", {} connection{}", count, count == 1 ? "" : "s");
    }
    all.back().load.connections = static_cast<int>(count);
  }
  return all;
}

std::vector<Scenario> all_scenarios() {
  std::vector<Scenario> all;
  for (const char* name : kFiles) {
    for (Scenario& scenario : parse_scenarios(file(fmt::format("scenarios/{}.toml", name)), name))
      all.push_back(std::move(scenario));
  }
  return all;
}

std::vector<Scenario> find_scenarios(const std::vector<std::string>& names) {
  std::vector<Scenario> found;
  const auto add = [&found](const Scenario& scenario) {
    if (std::ranges::find(found, scenario.name, &Scenario::name) == found.end())
      found.push_back(scenario);
  };
  const std::vector<Scenario> known = all_scenarios();
  for (const std::string& name : names) {
    if (name.ends_with(".toml")) {
      for (const Scenario& scenario : read_scenarios(name)) add(scenario);
      continue;
    }
    bool any = false;
    for (const Scenario& scenario : known) {
      if (scenario.name != name && !scenario.in_set(name)) continue;
      add(scenario);
      any = true;
    }
    if (!any) {
      throw Failure(fmt::format("there is no scenario '{}' (leantea-lab scenarios lists them; a "
                                "file of yours ends with .toml)",
                                name),
                    kExitUsage);
    }
  }
  return found;
}

std::string list_scenarios() {
  Table table({"scenario", "what", "in", "load"});
  for (const Scenario& scenario : all_scenarios()) {
    const bool wrk_or_ab = scenario.kind == Scenario::Kind::kThroughput;
    table.add({scenario.name, scenario.title, words_of(scenario.sets),
               wrk_or_ab ? describe(scenario.load)
                         : fmt::format("{}, {} connections", name_of(scenario.kind),
                                       scenario.load.connections)});
  }
  return table.text();
}

std::string describe_scenarios(const std::vector<std::string>& names) {
  std::string text;
  for (const Scenario& scenario : find_scenarios(names)) {
    if (!text.empty()) text += '\n';
    text += fmt::format("{}: {}\n  {}\n  kind: {}; {}\n", scenario.name, scenario.title,
                        scenario.description, name_of(scenario.kind), describe(scenario.load));
    for (const RequestSpec& request : scenario.load.requests) {
      text += fmt::format("  {} {}\n", request.method, request.target);
      for (const std::string& field : request.fields) text += fmt::format("    {}\n", field);
      if (!request.content.empty()) {
        text += fmt::format("    {} bytes of content{}\n", request.content.size(),
                            request.chunked ? ", in chunks" : "");
      }
    }
  }
  return text;
}

}  // namespace leantea::lab

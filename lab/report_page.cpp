#include "report_page.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <system_error>
#include <tuple>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "change_points.hpp"
#include "failure.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

namespace fs = std::filesystem;

constexpr int kDataFormat = 1;
constexpr std::string_view kPlaceOfData = "@LEANTEA_REPORT_DATA@";
// More than anybody reads off a chart; the points of many runs are most of the page.
constexpr int kDigitsOfPoints = 6;

std::string text_or_empty(const JsonValue& value) { return value.text().value_or(""); }

bool is_void(const JsonValue& server) { return server["void"].boolean().value_or(false); }

// ---- Series -------------------------------------------------------------------------------------

struct PagePoint {
  std::size_t run = 0;
  double median = 0;
  double low = 0;
  double high = 0;
  std::string verdict;
};

/// What a series is of; `to` is empty where it is no ratio.
struct PageSeries {
  std::string scenario;
  std::string server;
  std::string figure;
  std::string to;
  std::vector<PagePoint> points;
};

// Of the server-bound figure only the requests are compared, so its ratio has the name of the whole.
constexpr std::string_view kServerBound = "server_bound";
constexpr std::string_view kServerBoundRequests = "server_bound.requests_per_second";

/// The figures of one server, and where they are in its JSON.
struct FigurePath {
  std::string_view name;
  std::string_view outer;  ///< the member that the figure is in; empty: the server itself
  std::string_view inner;
};
constexpr std::array kFigurePaths = {
    FigurePath{"cpu_us_per_request", "", "cpu_us_per_request"},
    FigurePath{"requests_per_second", "", "requests_per_second"},
    FigurePath{"p50_us", "", "p50_us"},
    FigurePath{"p99_us", "", "p99_us"},
    FigurePath{kServerBoundRequests, kServerBound, "requests_per_second"},
    FigurePath{"bytes_per_connection", "", "bytes_per_connection"},
};

std::optional<PagePoint> point_of(std::size_t run, const JsonValue& estimate) {
  const std::optional<double> median = estimate["median"].number();
  if (!median) return std::nullopt;
  return PagePoint{.run = run,
                   .median = *median,
                   .low = estimate["low"].number().value_or(*median),
                   .high = estimate["high"].number().value_or(*median),
                   .verdict = text_or_empty(estimate["verdict"])};
}

/// The series of all runs, in the order in which they first came.
class SeriesList {
 public:
  void add_run(const RecordedRun& run) {
    for (const JsonValue& scenario : run.all["scenarios"].elements()) {
      for (const JsonValue& server : scenario["servers"].elements()) {
        if (!is_void(server)) add_server(run.index, scenario, server);
      }
    }
  }
  const std::vector<PageSeries>& all() const { return all_; }

  /// A server's name in the series: with its backend where a scenario has the name several times.
  static std::string key_of(const JsonValue& scenario, const JsonValue& server) {
    const auto same_name = [&](const JsonValue& other) {
      return other["name"].text() == server["name"].text();
    };
    std::string name = text_or_empty(server["name"]);
    const std::string backend = text_or_empty(server["backend"]);
    if (backend.empty() || std::ranges::count_if(scenario["servers"].elements(), same_name) < 2)
      return name;
    return fmt::format("{} ({})", name, backend);
  }

 private:
  void add_server(std::size_t run, const JsonValue& scenario, const JsonValue& server) {
    PageSeries which{.scenario = text_or_empty(scenario["name"]),
                     .server = key_of(scenario, server)};
    for (const FigurePath& path : kFigurePaths) {
      which.figure = path.name;
      const JsonValue& from = path.outer.empty() ? server : server[path.outer];
      add(which, point_of(run, from[path.inner]));
    }
    for (const auto& [reference, ratios] : server["ratio_to"].members()) {
      which.to = reference;
      for (const auto& [figure, estimate] : ratios.members()) {
        which.figure = figure == kServerBound ? kServerBoundRequests : figure;
        add(which, point_of(run, estimate));
      }
    }
  }

  void add(const PageSeries& which, std::optional<PagePoint> point) {
    if (!point) return;
    const auto [place, is_new] =
        places_.try_emplace({which.scenario, which.server, which.figure, which.to}, all_.size());
    if (is_new) all_.push_back(which);
    all_[place->second].points.push_back(std::move(*point));
  }

  std::vector<PageSeries> all_;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> places_;
};

double rounded(double value) {
  return number_or(fmt::format("{:.{}g}", value, kDigitsOfPoints), value);
}

void write_points(Json& json, const PageSeries& series) {
  json.array("points", [&] {
    for (const PagePoint& point : series.points) {
      json.array([&] {
        json.value(point.run);
        for (const double value : {point.median, point.low, point.high}) json.value(rounded(value));
        if (!point.verdict.empty()) json.value(point.verdict);
      });
    }
  });
}

/// Changes among the runs of the newest run's machine: that another machine has another ratio is no news.
void write_changes(Json& json, const PageSeries& series, const std::vector<RecordedRun>& runs) {
  const std::string machine = machine_of(runs.back());
  std::vector<double> values;
  std::vector<std::size_t> places;
  for (const PagePoint& point : series.points) {
    if (point.median <= 0 || machine_of(runs[point.run]) != machine) continue;
    values.push_back(point.median);
    places.push_back(point.run);
  }
  json.array("changes", [&] {
    for (const ChangePoint& change : change_points(values)) {
      const std::size_t first = places[change.index];
      json.object([&] {
        json.field("run", first);
        json.field("factor", rounded(change.ratio));
        json.field("low", rounded(change.low));
        json.field("high", rounded(change.high));
        json.array("coincidences", [&] {
          for (const std::string& what : differences(runs[places[change.index - 1]], runs[first]))
            json.value(what);
        });
      });
    }
  });
}

void write_series(Json& json, const PageSeries& series, const std::vector<RecordedRun>& runs) {
  json.object([&] {
    json.field("scenario", series.scenario);
    json.field("server", series.server);
    json.field("figure", series.figure);
    if (!series.to.empty()) json.field("to", series.to);
    write_points(json, series);
    if (!series.to.empty()) write_changes(json, series, runs);
  });
}

// ---- Runs ---------------------------------------------------------------------------------------

std::string commit_address(const RecordedCommit& commit, const std::string& repository) {
  if (!commit.url.empty() || repository.empty() || commit.id.empty()) return commit.url;
  return fmt::format("{}/commit/{}", repository, commit.id);
}

/// "server in scenario: why", for each void result.
std::vector<std::string> voids_of(const RecordedRun& run) {
  std::vector<std::string> voids;
  for (const JsonValue& scenario : run.all["scenarios"].elements()) {
    for (const JsonValue& server : scenario["servers"].elements()) {
      if (!is_void(server)) continue;
      std::vector<std::string> reasons;
      for (const JsonValue& why : server["why_void"].elements())
        reasons.push_back(text_or_empty(why));
      voids.push_back(fmt::format("{} in {}{}{}", SeriesList::key_of(scenario, server),
                                  text_or_empty(scenario["name"]), reasons.empty() ? "" : ": ",
                                  fmt::join(reasons, ", ")));
    }
  }
  return voids;
}

void write_run(Json& json, const RecordedRun& run, const std::string& repository) {
  json.object([&] {
    json.field("date", run.date);
    json.object("commit", [&] {
      json.field("id", run.commit.id);
      json.field("subject", run.commit.subject);
      json.field("author", run.commit.author);
      json.field("url", commit_address(run.commit, repository));
      json.field("dirty", run.commit.dirty);
    });
    json.field("machine", machine_of(run));
    json.array("voids", [&] {
      for (const std::string& line : voids_of(run)) json.value(line);
    });
  });
}

/// All members of an object but that of one name.
void write_members_but(Json& json, const JsonValue& object, std::string_view left_out) {
  for (const auto& [name, value] : object.members()) {
    if (name != left_out) json.field(name, value);
  }
}

void write_latest(Json& json, const RecordedRun& run) {
  json.object("latest", [&] {
    write_members_but(json, run.all, "scenarios");
    json.array("scenarios", [&] {
      for (const JsonValue& scenario : run.all["scenarios"].elements()) {
        json.object([&] {
          write_members_but(json, scenario, "servers");
          json.array("servers", [&] {
            for (const JsonValue& server : scenario["servers"].elements()) {
              json.object([&] {
                json.field("key", SeriesList::key_of(scenario, server));
                write_members_but(json, server, "blocks");
              });
            }
          });
        });
      }
    });
  });
}

/// Each scenario with its newest title, in the order of the newest run that has it.
void write_scenarios(Json& json, const std::vector<RecordedRun>& runs) {
  std::vector<std::pair<std::string, std::string>> titles;
  for (const RecordedRun& run : runs | std::views::reverse) {
    for (const JsonValue& scenario : run.all["scenarios"].elements()) {
      const std::string name = text_or_empty(scenario["name"]);
      if (std::ranges::find(titles, name, [](const auto& known) { return known.first; }) ==
          titles.end())
        titles.emplace_back(name, scenario["title"].text().value_or(name));
    }
  }
  json.array("scenarios", [&] {
    for (const auto& [name, title] : titles) {
      json.object([&] {
        json.field("name", name);
        json.field("title", title);
      });
    }
  });
}

void write_rounds(Json& json, const std::vector<RecordedRun>& runs) {
  const auto has_rounds = [](const RecordedRun& run) {
    return !run.all["rounds"].elements().empty();
  };
  const auto newest_first = runs | std::views::reverse;
  const auto newest = std::ranges::find_if(newest_first, has_rounds);
  if (newest == newest_first.end()) return;
  json.object("rounds", [&] {
    json.field("run", newest->index);
    json.field("rows", newest->all["rounds"]);
  });
}

// ---- Files --------------------------------------------------------------------------------------

std::vector<RecordedRun> runs_to_show(const std::string& folder) {
  std::vector<RecordedRun> runs = read_history(folder);
  if (runs.empty() && !fs::exists(fs::path(folder) / kRunsFile)) {
    throw Failure(
        fmt::format("no run is recorded in {}: ./dev bench --record measures and records one, "
                    "--history names another folder",
                    folder),
        kExitUsage);
  }
  return runs;
}

std::string read_template(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Failure(
        fmt::format("cannot read the page's template {} ({}): ./dev report makes it and the page",
                    path, std::strerror(errno)),
        kExitUsage);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

void make_folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  if (folder.empty()) return;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Failure(fmt::format("cannot make the folder {}: {}: choose another place with --output",
                              folder.string(), error.message()));
}

}  // namespace

std::string page_data(const std::vector<RecordedRun>& runs, const std::string& repository,
                      std::string_view made) {
  SeriesList series;
  for (const RecordedRun& run : runs) series.add_run(run);
  Json json;
  json.object([&] {
    json.field("format", kDataFormat);
    json.field("made", made);
    if (!repository.empty()) json.field("repository", repository);
    json.array("runs", [&] {
      for (const RecordedRun& run : runs) write_run(json, run, repository);
    });
    write_scenarios(json, runs);
    json.array("series", [&] {
      for (const PageSeries& one : series.all()) write_series(json, one, runs);
    });
    if (!runs.empty()) write_latest(json, runs.back());
    write_rounds(json, runs);
  });
  return in_one_line(parse_json(json.text(), "the page's data"));
}

std::string page_with(std::string_view page_template, std::string_view data,
                      const std::string& name) {
  const std::size_t place = page_template.find(kPlaceOfData);
  if (place == std::string_view::npos)
    throw Failure(
        fmt::format("{} has no place for the data: ./dev report makes the template anew", name),
        kExitUsage);
  std::string page(page_template.substr(0, place));
  page.reserve(page_template.size() + data.size());
  // "</script" would end the element and "<!--" change how its end is found. In JSON '<' stands in
  // texts alone.
  for (const char c : data) {
    if (c == '<') {
      page += "\\u003c";
    } else {
      page += c;
    }
  }
  page += page_template.substr(place + kPlaceOfData.size());
  return page;
}

int report_page(const ReportPageOptions& options) {
  const std::vector<RecordedRun> runs = runs_to_show(options.history);
  const std::string page_template = read_template(options.page_template);
  std::string repository = options.repository;
  while (repository.ends_with('/')) repository.pop_back();
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  const std::string data = page_data(runs, repository, fmt::format("{:%FT%TZ}", fmt::gmtime(now)));
  make_folder_of(options.output);
  replace_file(options.output, page_with(page_template, data, options.page_template));
  fmt::print("{}: {} run{}. Open it, or serve it with ./dev serve-report\n", options.output,
             runs.size(), runs.size() == 1 ? "" : "s");
  return 0;
}

}  // namespace leantea::lab

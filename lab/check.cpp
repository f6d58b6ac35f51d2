#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "compare.hpp"
#include "failure.hpp"
#include "json.hpp"
#include "process.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

constexpr std::size_t kShortId = 10;
constexpr double kRunsPerBlock = 4;

/// The part that "80%" or "80" stands for; nothing when no threshold was given.
std::optional<double> threshold_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const double percent = number_or(text, 0.0);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view rest = std::string_view(text).substr(digits);
  if (percent <= 0 || percent > 100 || (!rest.empty() && rest != "%")) {
    throw Failure(
        fmt::format("--alert-threshold {}: say a part of the best in percent, as in 80%", text),
        kExitUsage);
  }
  return percent / 100;
}

/// The last `most` runs made where the newest was made.
std::vector<RecordedRun> comparable_runs(const std::vector<RecordedRun>& runs,
                                         const CheckOptions& options, std::size_t& left_out) {
  std::vector<RecordedRun> kept;
  for (auto run = runs.rbegin(); run != runs.rend() && kept.size() < options.runs; ++run) {
    if (options.all_machines || machine_of(*run) == machine_of(runs.back())) {
      kept.push_back(*run);
    } else {
      ++left_out;
    }
  }
  std::ranges::reverse(kept);
  return kept;
}

/// A server is one of ours by its name, or by its name before a word that says which of several it is.
bool is_of(const std::string& server, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    return server == name || server.starts_with(name + " ");
  });
}

const RecordedRun& run_of(const std::vector<RecordedRun>& runs, const Point& point) {
  return *std::ranges::find(runs, point.run, &RecordedRun::index);
}

std::vector<Change> changes_of(const Series& series, const std::vector<RecordedRun>& runs) {
  std::vector<double> values;
  for (const Point& point : series.points) values.push_back(point.value);
  std::vector<Change> changes;
  for (const ChangePoint& point : change_points(values)) {
    const RecordedRun& before = run_of(runs, series.points[point.index - 1]);
    const RecordedRun& first = run_of(runs, series.points[point.index]);
    changes.push_back({.series = series,
                       .point = point,
                       .commit = first.commit,
                       .date = first.date,
                       .age = series.points.size() - point.index,
                       .coincidences = differences(before, first)});
  }
  return changes;
}

std::optional<Alert> alert_of(const Series& series, double threshold) {
  if (!series.bigger_is_better || series.points.size() < 2) return std::nullopt;
  double best = 0;
  for (const Point& point : series.points) best = std::max(best, point.value);
  const double newest = series.points.back().value;
  if (newest >= threshold * best) return std::nullopt;
  return Alert{.series = series, .newest = newest, .best = best};
}

// ---- In words -------------------------------------------------------------------------------------------------------

std::string what_of(const Series& series) {
  const std::string figure = series.figure == Figure::kCpuParity ? "CPU per request" : "requests/s";
  return fmt::format("{}: {} of {} against nginx", series.scenario, figure, series.server);
}

/// How much, said of the figure that people know: CPU per request grows when its parity falls.
std::string how_much(const Change& change) {
  const bool turned = change.series.figure == Figure::kCpuParity;
  const ChangePoint& p = change.point;
  const double ratio = turned ? 1 / p.ratio : p.ratio;
  const double ends[] = {turned ? 1 / p.high : p.low, turned ? 1 / p.low : p.high};
  const auto percent = [&](double r) { return 100 * (ratio < 1 ? 1 - r : r - 1); };
  const auto [low, high] = std::minmax({percent(ends[0]), percent(ends[1])});
  return fmt::format("{} by {:.1f} % (95 % interval {:.1f} to {:.1f} %)",
                     ratio < 1 ? "fell" : "rose", percent(ratio), low, high);
}

std::string since(const Change& change) {
  const std::string day = change.date.substr(0, 10);
  if (change.commit.id.empty()) return fmt::format("the run of {}", day);
  return fmt::format("{} \"{}\" ({}{}){}", change.commit.id.substr(0, kShortId),
                     change.commit.subject, day,
                     change.commit.dirty ? ", with changes that were not committed" : "",
                     change.commit.url.empty() ? "" : " " + change.commit.url);
}

std::string age_of(const Change& change) {
  return change.age == 1 ? "in the newest run alone"
                         : fmt::format("in the {} runs since", change.age);
}

std::string describe(const Change& change) {
  std::string text =
      fmt::format("{}: {} {}\n    since {}, {}; by chance in {:.1f} of 1000 cases\n",
                  change.is_worse() ? "worse" : "better", what_of(change.series), how_much(change),
                  since(change), age_of(change), 1000 * change.point.chance);
  if (!change.coincidences.empty()) {
    text += fmt::format("    not only the commit is new there: {}\n",
                        fmt::join(change.coincidences, "; "));
  }
  return text;
}

std::string describe(const Alert& alert) {
  return fmt::format("alert: {} is {:.1f} {}, {:.0f} % of the best run's {:.1f}\n",
                     alert.series.title, alert.newest, alert.series.unit,
                     100 * alert.newest / alert.best, alert.best);
}

bool is_parity(const Series& series) {
  return series.figure == Figure::kRequestsParity || series.figure == Figure::kCpuParity;
}

// ---- Two builds -----------------------------------------------------------------------------------------------------

std::vector<BuildVerdict> measured_verdicts(const std::string& base, const std::string& candidate,
                                            const RunOptions& run) {
  // Most comparisons are clear after the first look; the line's forecast is about that.
  const double scenarios = std::max<double>(1, static_cast<double>(run.scenarios.size()));
  const int blocks = run.blocks > 0 ? run.blocks : kBlocksPerLook;
  ProgressLine line(std::chrono::duration<double>(scenarios * blocks * kRunsPerBlock *
                                                  (run.seconds > 0 ? run.seconds : 1)));
  std::vector<BuildVerdict> verdicts;
  for (const BuildComparison& comparison :
       compare_builds(base, candidate, run, [&](const std::string& what) { line.show(what); })) {
    verdicts.push_back({.words = in_words(comparison),
                        .slower = comparison.verdict == Verdict::kSlower,
                        .inconclusive = comparison.verdict == Verdict::kInconclusive});
  }
  return verdicts;
}

}  // namespace

std::vector<Change> HistoryFindings::regressions(std::size_t recent) const {
  std::vector<Change> found;
  for (const Change& change : changes) {
    if (change.is_worse() && change.age <= recent) found.push_back(change);
  }
  return found;
}

HistoryFindings examine_history(const std::vector<RecordedRun>& runs, const CheckOptions& options) {
  const std::optional<double> threshold = threshold_of(options.alert_threshold);
  HistoryFindings findings;
  if (runs.empty()) return findings;
  const std::vector<RecordedRun> kept = comparable_runs(runs, options, findings.other_machines);
  findings.runs = kept.size();
  for (const Series& series : series_of(kept)) {
    // A series that the newest run does not have has nothing to say about it.
    if (!is_of(series.server, options.servers) || series.points.back().run != kept.back().index)
      continue;
    if (threshold) {
      if (auto alert = alert_of(series, *threshold)) findings.alerts.push_back(std::move(*alert));
    }
    if (!is_parity(series)) continue;
    ++findings.series;
    for (Change& change : changes_of(series, kept)) {
      const auto place = std::ranges::upper_bound(findings.changes, change.age, {}, &Change::age);
      findings.changes.insert(place, std::move(change));
    }
  }
  return findings;
}

std::string text_of(const HistoryFindings& findings, const CheckOptions& options) {
  std::string text;
  for (const Change& change : findings.regressions(options.recent)) text += describe(change);
  for (const Alert& alert : findings.alerts) text += describe(alert);
  const std::size_t worse = findings.regressions(options.recent).size();
  text += fmt::format("{} {} to the worse in the last {} of {} runs ({} series)\n",
                      worse == 0 ? "no" : std::to_string(worse), worse > 1 ? "changes" : "change",
                      std::min(options.recent, findings.runs), findings.runs, findings.series);
  if (findings.other_machines > 0) {
    text +=
        fmt::format("note: {} runs of other machines were left out (--all-machines takes them)\n",
                    findings.other_machines);
  }
  if (findings.series == 0) {
    text += fmt::format(
        "note: the newest run has no figures of {} against nginx: there was nothing to look at\n",
        fmt::join(options.servers, ", "));
  }
  const std::size_t fewest = fewest_values({});
  if (findings.runs < fewest) {
    text += fmt::format("note: a change can be told from chance from {} runs on\n", fewest);
  }
  std::string older;
  for (const Change& change : findings.changes) {
    if (!change.is_worse() || change.age > options.recent) older += describe(change);
  }
  return older.empty() ? text : text + "other changes, for the record:\n" + older;
}

std::string json_of(const HistoryFindings& findings, const CheckOptions& options) {
  Json json;
  json.object([&] {
    json.field("runs", findings.runs);
    json.field("series", findings.series);
    json.field("other_machines", findings.other_machines);
    json.field("worse", findings.regressions(options.recent).size());
    json.array("changes", [&] {
      for (const Change& change : findings.changes) {
        json.object([&] {
          json.field("series", change.series.key);
          json.field("worse", change.is_worse());
          json.field("recent", change.age <= options.recent);
          json.field("ratio", change.point.ratio);
          json.field("low", change.point.low);
          json.field("high", change.point.high);
          json.field("chance", change.point.chance);
          json.field("runs_since", change.age);
          json.field("date", change.date);
          json.field("commit", change.commit.id);
          json.field("subject", change.commit.subject);
          json.array("also_new", [&] {
            for (const std::string& what : change.coincidences) json.value(what);
          });
        });
      }
    });
    json.array("alerts", [&] {
      for (const Alert& alert : findings.alerts) {
        json.object([&] {
          json.field("series", alert.series.key);
          json.field("newest", alert.newest);
          json.field("best", alert.best);
        });
      }
    });
  });
  return json.text();
}

int check(const CheckOptions& options) {
  if (!options.base.empty() || !options.candidate.empty()) {
    return check_builds(options.base, options.candidate,
                        [&](const auto& base, const auto& candidate) {
                          return measured_verdicts(base, candidate, options.run);
                        });
  }
  const std::vector<RecordedRun> runs = read_history(options.history);
  if (runs.empty()) {
    throw Failure(fmt::format("nothing is recorded in {}: record runs with leantea-lab bench "
                              "--record, or name another folder with --history",
                              options.history),
                  kExitUsage);
  }
  const HistoryFindings findings = examine_history(runs, options);
  if (options.json != "-") fmt::print("{}", text_of(findings, options));
  if (!options.json.empty()) write_text(options.json, json_of(findings, options));
  return findings.regressions(options.recent).empty() && findings.alerts.empty() ? 0 : kExitFailure;
}

int check_builds(const std::string& base, const std::string& candidate,
                 const CompareBuilds& compare) {
  for (const auto& [flag, program] : {std::pair{"--base", base}, {"--candidate", candidate}}) {
    if (program.empty())
      throw Failure(fmt::format("two builds are compared: {} PATH is missing", flag), kExitUsage);
    if (find_program(program).empty()) {
      throw Failure(
          fmt::format("{} {}: there is no such program: name a bench server, or build one "
                      "(./dev bench check --base-commit REV builds both)",
                      flag, program),
          kExitUsage);
    }
  }
  const std::vector<BuildVerdict> verdicts = compare(base, candidate);
  for (const BuildVerdict& verdict : verdicts) fmt::print("{}\n", verdict.words);
  const auto slower = std::ranges::count_if(verdicts, &BuildVerdict::slower);
  const auto unclear = std::ranges::count_if(verdicts, &BuildVerdict::inconclusive);
  fmt::print("slower in {} of {} scenarios{}\n", slower, verdicts.size(),
             unclear == 0
                 ? ""
                 : fmt::format(", and in {} it cannot be told: more --blocks tell", unclear));
  return slower == 0 ? 0 : kExitFailure;
}

}  // namespace leantea::lab

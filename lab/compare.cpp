#include "compare.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "failure.hpp"
#include "history.hpp"
#include "interrupt.hpp"
#include "json.hpp"
#include "progress.hpp"

namespace leantea::lab {
namespace {

constexpr double kSeconds = 1;
constexpr double kBlockOverhead = 0.3;  // of a server, for the forecast

/// Every lane but the reference has a verdict.
bool conclusive(const ContestResult& contest, std::string_view reference) {
  const Metric metric = main_metric(contest);
  return std::ranges::all_of(contest.lanes, [&](const Lane& lane) {
    if (lane.name == reference || lane.is_void()) return true;
    const auto ratio = ratio_of(contest, lane, reference, metric, kLookConfidence);
    return ratio && judge(*ratio, less_is_better(metric)) != Verdict::kInconclusive;
  });
}

/// Blocks until every verdict is clear, or there were enough looks.
ContestResult run_until_clear(Stage& stage, const Scenario& scenario,
                              const std::vector<Entrant>& entrants, std::string_view reference,
                              int blocks, const Progress& progress) {
  ContestResult result = empty_contest(scenario.name, scenario.title);
  const int looks = blocks > 0 ? 1 : kMostLooks;
  const int per_look = blocks > 0 ? blocks : kBlocksPerLook;
  for (int look = 1; look <= looks; ++look) {
    stage.run(
        entrants, {.blocks = look * per_look, .turn = turn_for(scenario.load)}, result,
        [&](const std::string& what) { progress(fmt::format("{}, {}", scenario.name, what)); });
    if (conclusive(result, reference)) break;
  }
  return result;
}

Scenario only_throughput(Scenario scenario) {
  if (scenario.kind != Scenario::Kind::kThroughput) {
    throw Failure(fmt::format("compare takes scenarios with a load of wrk or ab; {} is for bench",
                              scenario.name),
                  kExitUsage);
  }
  return scenario;
}

double seconds_of(const std::vector<Entrant>& entrants, int blocks) {
  double sum = 0;
  for (const Entrant& entrant : entrants)
    sum += std::chrono::duration<double>(entrant.load.duration).count() + kBlockOverhead;
  return sum * (blocks > 0 ? blocks : kBlocksPerLook);
}

/// The two builds as entrants of a scenario.
std::vector<Entrant> builds(const std::string& base, const std::string& candidate,
                            const RunOptions& options, const Scenario& scenario) {
  std::vector<Entrant> entrants;
  const auto add = [&](const std::string& name, const std::string& program) {
    RunOptions one = options;
    one.targets.servers = {"ours"};
    one.targets.peers.clear();
    one.targets.ours = program;
    std::vector<std::string> remarks;
    for (Entrant& entrant : entrants_for(one, scenario, remarks)) {
      entrant.server.name = name;
      entrants.push_back(std::move(entrant));
    }
  };
  add("candidate", candidate);
  add("base", base);
  return entrants;
}

}  // namespace

int compare(const CompareOptions& options) {
  const auto start = Clock::now();
  const RunOptions& run = options.run;
  require_place_for("--json", run.json);
  const Placement placement = placement_for(run);
  std::vector<std::string> remarks;
  std::vector<std::pair<Scenario, std::vector<Entrant>>> matches;
  double expected = 0;
  raise_descriptor_limit(4096);
  Stage stage(placement);
  for (const Scenario& scenario : scenarios_of(run, "health", kSeconds)) {
    only_throughput(scenario);
    auto entrants = entrants_for(run, scenario, remarks);
    stage.prepare(entrants, remarks);
    if (entrants.size() < 2) {
      remarks.push_back(
          fmt::format("{} is left out: fewer than two servers can take part", scenario.name));
      continue;
    }
    expected += seconds_of(entrants, run.blocks);
    matches.emplace_back(scenario, std::move(entrants));
  }
  if (matches.empty()) {
    throw Failure(fmt::format("nothing to compare: {}", fmt::join(remarks, "; ")), kExitUsage);
  }
  const bool talks = !run.markdown && run.json != "-";
  BenchReport report = report_for(run, placement, matches.front().second);
  report.remarks = remarks;
  report.confidence = run.blocks > 0 ? kConfidence : kLookConfidence;
  const std::string reference =
      options.reference.empty() ? matches.front().second.back().server.name : options.reference;
  report.references = {reference};
  for (const auto& [scenario, entrants] : matches) {
    if (std::ranges::find(entrants, reference, [](const Entrant& e) { return e.server.name; }) ==
        entrants.end()) {
      throw Failure(fmt::format("the reference {} takes no part in {}", reference, scenario.name),
                    kExitUsage);
    }
  }
  ProgressLine line{std::chrono::duration<double>(expected)};
  if (talks) fmt::print("{}", heading(report));
  for (const std::string& remark : remarks) {
    if (talks) fmt::print("note: {}\n", remark);
  }
  for (const auto& [scenario, entrants] : matches) {
    report.contests.push_back(
        run_until_clear(stage, scenario, entrants, reference, run.blocks,
                        [&line](const std::string& what) { line.show(what); }));
    line.clear();
    report.cpu_source = stage.cpu_source();
    if (talks) fmt::print("\n{}", table_of(report, report.contests.back()));
    std::fflush(stdout);
  }
  report.elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  if (run.markdown) fmt::print("{}", markdown_of(report));
  if (!run.json.empty()) write_text(run.json, json_of(report));
  return std::ranges::any_of(report.contests, &ContestResult::any_void) ? kExitFailure : 0;
}

std::vector<BuildComparison> compare_builds(const std::string& base, const std::string& candidate,
                                            const RunOptions& options, const Progress& progress) {
  std::vector<BuildComparison> comparisons;
  Stage stage(placement_for(options));
  raise_descriptor_limit(4096);
  for (const Scenario& scenario : scenarios_of(options, "health", kSeconds)) {
    const auto entrants = builds(base, candidate, options, only_throughput(scenario));
    BuildComparison comparison{
        .contest = run_until_clear(stage, scenario, entrants, "base", options.blocks, progress),
        .ratio = {}};
    const ContestResult& contest = comparison.contest;
    for (const Lane& lane : contest.lanes) {
      if (lane.is_void())
        throw Failure(fmt::format("{}: {} was void: {}", scenario.name, lane.name,
                                  fmt::join(lane.voids, "; ")));
    }
    comparison.metric = main_metric(contest);
    const auto ratio = ratio_of(contest, *contest.lane("candidate"), "base", comparison.metric,
                                options.blocks > 0 ? kConfidence : kLookConfidence);
    if (!ratio) throw Failure(scenario.name + ": there is no figure of both builds");
    comparison.ratio = *ratio;
    comparison.verdict = judge(*ratio, less_is_better(comparison.metric));
    comparisons.push_back(std::move(comparison));
  }
  return comparisons;
}

std::string in_words(const BuildComparison& comparison) {
  const auto percent = [](double ratio) { return (ratio - 1) * 100; };
  const Interval& ratio = comparison.ratio;
  return fmt::format("{}: {}, {} {:+.1f} % ({:+.1f} to {:+.1f}) of the base's, {} blocks",
                     comparison.contest.name, name_of(comparison.verdict),
                     name_of(comparison.metric), percent(ratio.median), percent(ratio.low),
                     percent(ratio.high), ratio.count);
}

int self_check(const SelfCheckOptions& options) {
  const std::string ours = options.run.targets.ours.empty() ? program_directory() + "/bench_server"
                                                            : options.run.targets.ours;
  std::string slowed = options.slowed;
  if (slowed.empty() && !find_program(program_directory() + "/bench_server_slowed").empty())
    slowed = program_directory() + "/bench_server_slowed";
  for (const std::string& program : {ours, slowed}) {
    if (!program.empty() && find_program(program).empty())
      throw Failure(fmt::format("{} is no program: build it (./dev build)", program), kExitUsage);
  }
  struct Check {
    std::string title;
    std::string candidate;
    Verdict expected;
    int right = 0;
    int all = 0;
  };
  std::vector<Check> checks{{"equal builds are equivalent", ours, Verdict::kEquivalent}};
  if (slowed.empty()) {
    fmt::print("note: no slowed build (bench_server_slowed) is beside the lab: left out\n");
  } else {
    checks.push_back(
        {"a build with 0.2 µs more for each request is slower", slowed, Verdict::kSlower});
  }
  ProgressLine line(std::chrono::duration<double>(static_cast<double>(checks.size()) *
                                                  options.tries * kBlocksPerLook *
                                                  (2 * kSeconds + 2 * kBlockOverhead)));
  for (int i = 0; i < options.tries; ++i) {
    for (Check& check : checks) {
      const auto comparisons =
          compare_builds(ours, check.candidate, options.run, [&](const std::string& what) {
            line.show(fmt::format("try {} of {}, {}", i + 1, options.tries, what));
          });
      line.clear();
      for (const BuildComparison& comparison : comparisons) {
        const bool right = comparison.verdict == check.expected;
        ++check.all;
        check.right += right ? 1 : 0;
        fmt::print("{} {}\n", right ? "as expected:" : "NOT AS EXPECTED:", in_words(comparison));
        std::fflush(stdout);
      }
    }
  }
  bool good = true;
  for (const Check& check : checks) {
    fmt::print("{}: {} of {}\n", check.title, check.right, check.all);
    // One of twenty may fail: that is what 95 % confidence means.
    good = good && (check.all - check.right) * 20 <= check.all;
  }
  return good ? 0 : kExitFailure;
}

}  // namespace leantea::lab

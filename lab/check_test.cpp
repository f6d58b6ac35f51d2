#include "check.hpp"

#include <cmath>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "failure.hpp"
#include "temporary.hpp"

namespace leantea::lab {
namespace {

/// A recorded run, as far as `check` looks at it.
struct Figures {
  double requests = 1.04;  ///< ours ÷ nginx
  double cpu = 0.85;       ///< CPU per request, ours ÷ nginx
  std::string processor = "Tea 1";
  std::string nginx = "1.22.1";
  std::string server = "ours";
};

RecordedRun recorded(const Figures& run, int number) {
  RecordedRun result =
      parse_run(fmt::format(
                    R"({{"format": 1, "date": "2026-01-{:02}T00:00:{:02}Z",
  "commit": {{"id": "{:040x}", "subject": "subject {}", "url": "https://example.org/tea/commit/{}"}},
  "machine": {{"processor": "{}", "cores": 2, "kernel": "6.1"}}, "versions": {{"nginx": "{}"}},
  "scenarios": [{{"name": "health", "servers": [{{"name": "{}",
    "requests_per_second": {{"median": {}}},
    "ratio_to": {{"nginx": {{"requests_per_second": {{"median": {}}},
                           "cpu_us_per_request": {{"median": {}}}}}}}}}]}}]}})",
                    1 + number % 28, number / 28, number, number, number, run.processor, run.nginx,
                    run.server, 80000 * run.requests, run.requests, run.cpu),
                "run");
  result.index = static_cast<std::size_t>(number);
  return result;
}

/// `count` runs that scatter by 1 %; `change(run, number)` has its way with each.
template <typename Change>
std::vector<RecordedRun> history(int count, Change change) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 0.01);
  std::vector<RecordedRun> runs;
  for (int number = 0; number < count; ++number) {
    Figures run;
    run.requests *= std::exp(noise(random));
    run.cpu *= std::exp(noise(random));
    change(run, number);
    runs.push_back(recorded(run, number));
  }
  return runs;
}

std::vector<RecordedRun> steady(int count) {
  return history(count, [](Figures&, int) {});
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Check, IsContentWithASteadyHistory) {
  const HistoryFindings findings = examine_history(steady(60), {});
  EXPECT_EQ(findings.series, 2U);
  EXPECT_TRUE(findings.changes.empty());
  EXPECT_EQ(text_of(findings, {}), "no change to the worse in the last 10 of 60 runs (2 series)\n");
}

TEST(Check, SaysWhatBecameWorseByHowMuchAndSinceWhen) {
  const auto runs = history(60, [](Figures& run, int number) {
    if (number >= 52) run.requests *= 0.95;
  });
  const HistoryFindings findings = examine_history(runs, {});
  ASSERT_EQ(findings.regressions(10).size(), 1U);
  const std::string text = text_of(findings, {});
  EXPECT_TRUE(contains(text, "worse: health: requests/s of ours against nginx fell by ")) << text;
  double fall = 0;
  double low = 0;
  double high = 0;
  const std::size_t at = text.find("fell by ");
  ASSERT_EQ(std::sscanf(text.c_str() + at, "fell by %lf %% (95 %% interval %lf to %lf %%)", &fall,
                        &low, &high),
            3)
      << text;
  EXPECT_LT(low, fall);
  EXPECT_LT(fall, high);
  EXPECT_LT(low, 5);
  EXPECT_GT(high, 5);
  EXPECT_TRUE(contains(text,
                       "since 0000000000 \"subject 52\" (2026-01-25) "
                       "https://example.org/tea/commit/52, in the 8 runs since"))
      << text;
  EXPECT_NEAR(findings.changes[0].point.ratio, 0.95, 0.015);
  const JsonValue json = parse_json(json_of(findings, {}), "x");
  EXPECT_EQ(json["worse"].number(), 1);
  EXPECT_EQ(json["changes"].elements()[0]["series"].text(), "rps-parity/health/ours");
}

TEST(Check, CpuPerRequestIsWorseWhenItRises) {
  const auto runs = history(40, [](Figures& run, int number) {
    if (number >= 32) run.cpu *= 1.06;
  });
  const HistoryFindings findings = examine_history(runs, {});
  const std::string text = text_of(findings, {});
  EXPECT_TRUE(contains(text, "worse: health: CPU per request of ours against nginx rose by "))
      << text;
  EXPECT_EQ(findings.regressions(10).size(), 1U);
}

TEST(Check, AnImprovementIsTold) {
  const auto runs = history(40, [](Figures& run, int number) {
    if (number >= 32) run.cpu *= 0.9;
  });
  const HistoryFindings findings = examine_history(runs, {});
  EXPECT_TRUE(findings.regressions(10).empty());
  EXPECT_TRUE(contains(text_of(findings, {}), "better: health: CPU per request"));
}

TEST(Check, AnOldChangeIsHistoryAndNoAlarm) {
  const auto runs = history(60, [](Figures& run, int number) {
    if (number >= 30) run.requests *= 0.95;
  });
  const HistoryFindings findings = examine_history(runs, {});
  EXPECT_TRUE(findings.regressions(10).empty());
  EXPECT_EQ(findings.regressions(60).size(), 1U);
  EXPECT_TRUE(contains(text_of(findings, {}), "other changes, for the record:\nworse: "));
}

TEST(Check, NamesWhatElseIsNewWhereAChangeIs) {
  const auto runs = history(40, [](Figures& run, int number) {
    if (number < 34) return;
    run.requests *= 0.93;
    run.nginx = "1.24.0";
  });
  const std::string text = text_of(examine_history(runs, {}), {});
  EXPECT_TRUE(contains(text, "not only the commit is new there: nginx 1.22.1 → 1.24.0")) << text;
}

TEST(Check, OtherMachinesAreLeftOut) {
  const auto runs = history(60, [](Figures& run, int number) {
    if (number % 2 == 0) return;
    run.requests *= 0.9;
    run.processor = "Tea 2";
  });
  const HistoryFindings findings = examine_history(runs, {});
  EXPECT_EQ(findings.runs, 30U);
  EXPECT_EQ(findings.other_machines, 30U);
  EXPECT_TRUE(findings.changes.empty());
  EXPECT_TRUE(contains(text_of(findings, {}), "30 runs of other machines were left out"));
  EXPECT_EQ(examine_history(runs, {.all_machines = true}).runs, 60U);
}

TEST(Check, SaysWhenThereAreTooFewRunsToTell) {
  const std::string text = text_of(examine_history(steady(5), {}), {});
  EXPECT_TRUE(contains(text, "a change can be told from chance from 13 runs on")) << text;
}

TEST(Check, LooksAtTheNamedServers) {
  const auto runs = history(30, [](Figures& run, int) { run.server = "ours uring"; });
  EXPECT_EQ(examine_history(runs, {}).series, 2U) << "a backend of ours";
  EXPECT_EQ(examine_history(runs, {.servers = {"h2o"}}).series, 0U);
  const CheckOptions others{.servers = {"our"}};
  EXPECT_EQ(examine_history(runs, others).series, 0U);
  EXPECT_TRUE(contains(text_of(examine_history(runs, others), others),
                       "note: the newest run has no figures of our against nginx"));
}

TEST(Check, AlertsBelowTheThresholdOfTheBest) {
  const auto runs = history(5, [](Figures& run, int number) {
    if (number == 1) run.requests = 1.2;
    if (number == 4) run.requests = 0.9;
  });
  const HistoryFindings findings = examine_history(runs, {.alert_threshold = "80%"});
  ASSERT_EQ(findings.alerts.size(), 2U) << "requests/s, and the parity";
  EXPECT_TRUE(contains(text_of(findings, {}), "75 % of the best run's 120.0"))
      << text_of(findings, {});
  EXPECT_TRUE(examine_history(runs, {.alert_threshold = "70"}).alerts.empty());
  EXPECT_TRUE(examine_history(runs, {}).alerts.empty());
}

TEST(Check, RefusesAThresholdThatIsNone) {
  for (const char* text : {"x", "0%", "-5%", "101%", "80 percent", "%"}) {
    EXPECT_THROW(examine_history(steady(1), {.alert_threshold = text}), Failure) << text;
  }
}

TEST(Check, HasNothingToSayAboutNoHistory) {
  const TemporaryDirectory directory;
  try {
    check({.history = directory.path()});
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitUsage);
    EXPECT_TRUE(contains(failure.what(), "nothing is recorded in"));
  }
}

TEST(Check, ExitCodeIsOneForARegression) {
  const TemporaryDirectory directory;
  const auto record = [&](int count, int step) {
    const auto runs = history(count, [&](Figures& run, int number) {
      if (number >= step) run.requests *= 0.9;
    });
    std::ofstream file(directory.path() + "/runs.jsonl");
    for (const RecordedRun& run : runs) file << in_one_line(run.all) << '\n';
  };
  record(30, 25);
  EXPECT_EQ(check({.history = directory.path()}), kExitFailure);
  record(30, 99);
  EXPECT_EQ(check({.history = directory.path()}), 0);
}

// ---- Two builds -----------------------------------------------------------------------------------------------------

CompareBuilds comes_to(const std::vector<BuildVerdict>& verdicts) {
  return [verdicts](const std::string&, const std::string&) { return verdicts; };
}

TEST(CheckBuilds, ExitCodeIsOneWhenTheCandidateIsSlowerAnywhere) {
  const BuildVerdict same{.words = "health: equivalent"};
  const BuildVerdict slower{.words = "json: slower", .slower = true};
  const BuildVerdict unclear{.words = "echo-5: inconclusive", .inconclusive = true};
  EXPECT_EQ(check_builds("sh", "sh", comes_to({same, unclear})), 0);
  EXPECT_EQ(check_builds("sh", "sh", comes_to({same, slower})), kExitFailure);
}

TEST(CheckBuilds, SaysWhatToDoAboutAProgramThatIsNotThere) {
  const CompareBuilds never = [](const std::string&, const std::string&) {
    ADD_FAILURE() << "measured";
    return std::vector<BuildVerdict>{};
  };
  try {
    check_builds("", "sh", never);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "two builds are compared: --base PATH is missing");
  }
  try {
    check_builds("sh", "./no/such/server", never);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitUsage);
    EXPECT_TRUE(contains(failure.what(), "--candidate ./no/such/server: there is no such program"));
  }
}

}  // namespace
}  // namespace leantea::lab

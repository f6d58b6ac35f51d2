#include "report_page.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "failure.hpp"
#include "temporary.hpp"

namespace leantea::lab {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemplate =
    "<script type=\"application/json\">@LEANTEA_REPORT_DATA@</script><p>after</p>";
constexpr std::string_view kMade = "2026-12-01T00:00:00Z";

void write_file(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A run whose scenarios are the given JSON.
std::string run_with(std::string_view scenarios, std::string_view subject = "a subject",
                     std::string_view more = "") {
  return fmt::format(
      R"({{"format":1,"date":"2026-12-01T10:00:00Z","commit":{{"id":"{:040}","subject":"{}"}},)"
      R"("machine":{{"processor":"A processor"}}{},"scenarios":{}}})",
      7, subject, more, scenarios);
}

std::vector<RecordedRun> runs_of(const std::vector<std::string>& texts) {
  std::vector<RecordedRun> runs;
  for (const std::string& text : texts) {
    runs.push_back(parse_run(text, "runs.jsonl"));
    runs.back().index = runs.size() - 1;
  }
  return runs;
}

JsonValue data_of(const std::vector<std::string>& texts, const std::string& repository = "") {
  return parse_json(page_data(runs_of(texts), repository, kMade), "data");
}

/// "scenario server figure to: run median low high verdict, …" of each series.
std::vector<std::string> lines_of_series(const JsonValue& data) {
  std::vector<std::string> lines;
  for (const JsonValue& series : data["series"].elements()) {
    std::string line =
        fmt::format("{} {} {} {}:", *series["scenario"].text(), *series["server"].text(),
                    *series["figure"].text(), series["to"].text().value_or("-"));
    for (const JsonValue& point : series["points"].elements()) {
      line += " [";
      for (const JsonValue& part : point.elements())
        line += part.text() ? *part.text() : fmt::format("{} ", *part.number());
      line += "]";
    }
    lines.push_back(line);
  }
  return lines;
}

/// A folder with a history and a template, and the options that name them.
class ReportPage : public testing::Test {
 protected:
  ReportPage() {
    write_file(path("template.html"), kTemplate);
    options_ = {.history = path("history"),
                .page_template = path("template.html"),
                .output = path("site/bench/index.html")};
  }

  std::string path(std::string_view name) const { return folder_.path() + "/" + std::string(name); }

  void record(std::string_view text) {
    fs::create_directories(options_.history);
    write_file(path("history/runs.jsonl"), text);
  }

  /// What the report says when it fails.
  std::string failure() const {
    try {
      report_page(options_);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "it did not fail";
  }

  TemporaryDirectory folder_;
  ReportPageOptions options_;
};

// ---- The data -----------------------------------------------------------------------------------

TEST(PageData, HasASeriesForEachFigureOfEachServer) {
  const std::string first = run_with(
      R"([{"name":"health","servers":[{"name":"ours","requests_per_second":{"median":10,"low":9,"high":11},
        "ratio_to":{"nginx":{"cpu_us_per_request":{"median":0.5,"low":0.4,"high":0.6,"verdict":"faster"},
          "server_bound":{"median":2}}},
        "server_bound":{"requests_per_second":{"median":5}}}]}])");
  const std::string second = run_with(
      R"([{"name":"health","servers":[{"name":"ours","requests_per_second":{"median":12,"low":11,"high":13}}]}])");
  EXPECT_EQ(
      lines_of_series(data_of({first, second})),
      (std::vector<std::string>{"health ours requests_per_second -: [0 10 9 11 ] [1 12 11 13 ]",
                                "health ours server_bound.requests_per_second -: [0 5 5 5 ]",
                                "health ours cpu_us_per_request nginx: [0 0.5 0.4 0.6 faster]",
                                "health ours server_bound.requests_per_second nginx: [0 2 2 2 ]"}));
}

TEST(PageData, SaysWhatIsVoidAndLeavesItOutOfTheSeries) {
  const JsonValue data = data_of({run_with(
      R"([{"name":"echo","servers":[{"name":"slow","void":true,"why_void":["it died","twice"],
        "requests_per_second":{"median":1}}]}])")});
  EXPECT_TRUE(data["series"].elements().empty());
  ASSERT_EQ(data["runs"].elements()[0]["voids"].elements().size(), 1U);
  EXPECT_EQ(data["runs"].elements()[0]["voids"].elements()[0].text(),
            "slow in echo: it died, twice");
}

TEST(PageData, TellsServersOfOneNameApartByTheirBackend) {
  const JsonValue data = data_of({run_with(R"([{"name":"health","servers":[
        {"name":"ours","backend":"reactor","requests_per_second":{"median":1}},
        {"name":"ours","backend":"uring","requests_per_second":{"median":2}},
        {"name":"nginx","backend":"epoll","requests_per_second":{"median":3}}]}])")});
  EXPECT_EQ(lines_of_series(data),
            (std::vector<std::string>{"health ours (reactor) requests_per_second -: [0 1 1 1 ]",
                                      "health ours (uring) requests_per_second -: [0 2 2 2 ]",
                                      "health nginx requests_per_second -: [0 3 3 3 ]"}));
  EXPECT_EQ(data["latest"]["scenarios"].elements()[0]["servers"].elements()[1]["key"].text(),
            "ours (uring)");
}

TEST(PageData, HasTheLatestRunWithoutItsBlocks) {
  const JsonValue data =
      data_of({run_with("[]"), run_with(R"([{"name":"health","title":"GET /health","servers":[
        {"name":"ours","blocks":[{"runs":[]}],"latency":[[50,100]]}]}])")});
  const JsonValue& scenario = data["latest"]["scenarios"].elements()[0];
  const JsonValue& server = scenario["servers"].elements()[0];
  EXPECT_EQ(scenario["title"].text(), "GET /health");
  EXPECT_TRUE(server["blocks"].is_null());
  EXPECT_EQ(server["latency"].elements().size(), 1U);
  EXPECT_EQ(data["latest"]["machine"]["processor"].text(), "A processor");
}

TEST(PageData, HasTheRoundsOfTheLastRunThatMadeThem) {
  const std::string rounds = R"(,"rounds":[{"name":"reactor"}])";
  const JsonValue data =
      data_of({run_with("[]"), run_with("[]", "with rounds", rounds), run_with("[]")});
  EXPECT_EQ(data["rounds"]["run"].number(), 1);
  EXPECT_EQ(data["rounds"]["rows"].elements()[0]["name"].text(), "reactor");
  EXPECT_TRUE(data_of({run_with("[]")})["rounds"].is_null());
}

TEST(PageData, MakesACommitsAddressFromTheRepositorysWhereNoneWasRecorded) {
  const std::string own = R"({"format":1,"date":"2026-12-01T10:00:00Z","scenarios":[],
    "commit":{"id":"abc","url":"https://elsewhere.example/abc"}})";
  const std::string none = R"({"format":1,"date":"2026-12-01T10:00:00Z","scenarios":[]})";
  const JsonValue data = data_of({run_with("[]"), own, none}, "https://git.example/leantea");
  const auto runs = data["runs"].elements();
  EXPECT_EQ(runs[0]["commit"]["url"].text(),
            fmt::format("https://git.example/leantea/commit/{:040}", 7));
  EXPECT_EQ(runs[1]["commit"]["url"].text(), "https://elsewhere.example/abc");
  EXPECT_EQ(runs[2]["commit"]["url"].text(), "");
}

TEST(PageData, SaysWhereARatioChangedAndWhatElseDidThen) {
  std::vector<std::string> runs;
  for (int run = 0; run < 40; ++run) {
    const double noise = 0.002 * ((run * 7) % 5);
    runs.push_back(run_with(
        fmt::format(R"([{{"name":"health","servers":[{{"name":"ours","ratio_to":{{"nginx":)"
                    R"({{"cpu_us_per_request":{{"median":{}}}}}}}}}]}}])",
                    (run < 25 ? 0.8 : 0.84) + noise),
        "a subject", fmt::format(R"(,"versions":{{"nginx":"{}"}})", run < 25 ? "1.22" : "1.24")));
  }
  const JsonValue data = data_of(runs);
  const auto changes = data["series"].elements()[0]["changes"].elements();
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0]["run"].number(), 25);
  EXPECT_NEAR(*changes[0]["factor"].number(), 1.05, 0.005);
  ASSERT_EQ(changes[0]["coincidences"].elements().size(), 1U);
  EXPECT_EQ(changes[0]["coincidences"].elements()[0].text(), "nginx 1.22 → 1.24");
}

TEST(PageData, TakesNoOtherMachineForAChange) {
  std::vector<std::string> runs;
  for (int run = 0; run < 40; ++run) {
    std::string text = run_with(
        fmt::format(R"([{{"name":"health","servers":[{{"name":"ours","ratio_to":{{"nginx":)"
                    R"({{"cpu_us_per_request":{{"median":{}}}}}}}}}]}}])",
                    (run < 20 ? 0.8 : 0.9) + 0.002 * ((run * 7) % 5)));
    if (run < 20) text.replace(text.find("A processor"), 11, "An old one!");
    runs.push_back(std::move(text));
  }
  EXPECT_TRUE(data_of(runs)["series"].elements()[0]["changes"].elements().empty());
}

TEST(PageData, HasEachScenarioOnceWithItsNewestTitle) {
  const JsonValue data = data_of({run_with(R"([{"name":"a","title":"old"},{"name":"b"}])"),
                                  run_with(R"([{"name":"a","title":"new"}])")});
  const auto scenarios = data["scenarios"].elements();
  ASSERT_EQ(scenarios.size(), 2U);
  EXPECT_EQ(scenarios[0]["title"].text(), "new");
  EXPECT_EQ(scenarios[1]["title"].text(), "b");
}

// ---- The page -----------------------------------------------------------------------------------

TEST(PageWith, LetsNothingInTheDataEndTheirElement) {
  const std::string nasty = "</script><script>alert(1)</script><!--<script>";
  const std::string data = page_data(runs_of({run_with("[]", nasty)}), "", kMade);
  const std::string page = page_with(kTemplate, data, "template.html");
  const std::string_view open = "<script type=\"application/json\">";
  const std::string_view close = "</script><p>after</p>";
  ASSERT_TRUE(page.starts_with(open));
  ASSERT_TRUE(page.ends_with(close));
  const std::string inside = page.substr(open.size(), page.size() - open.size() - close.size());
  EXPECT_EQ(inside.find('<'), std::string::npos);
  EXPECT_EQ(parse_json(inside, "page")["runs"].elements()[0]["commit"]["subject"].text(), nasty);
}

TEST_F(ReportPage, IsWrittenWithTheDataInIt) {
  record(run_with("[]", "the subject") + "\n");
  EXPECT_EQ(report_page(options_), 0);
  const std::string page = read_file(options_.output);
  EXPECT_NE(page.find("the subject"), std::string::npos);
  EXPECT_EQ(page.find("@LEANTEA"), std::string::npos);
}

TEST_F(ReportPage, OfAnEmptyHistoryIsAPageToo) {
  record("");
  EXPECT_EQ(report_page(options_), 0);
  EXPECT_NE(read_file(options_.output).find("\"runs\":[]"), std::string::npos);
}

TEST_F(ReportPage, WithoutAHistorySaysHowToRecordARun) {
  EXPECT_EQ(failure(), "no run is recorded in " + options_.history +
                           ": ./dev bench --record measures and records one, --history names "
                           "another folder");
}

TEST_F(ReportPage, WithoutATemplateSaysHowToMakeIt) {
  record(run_with("[]") + "\n");
  fs::remove(options_.page_template);
  EXPECT_EQ(failure(), "cannot read the page's template " + options_.page_template +
                           " (No such file or directory): ./dev report makes it and the page");
  write_file(options_.page_template, "something else");
  EXPECT_EQ(failure(), options_.page_template +
                           " has no place for the data: ./dev report makes the template anew");
}

TEST_F(ReportPage, WithABrokenHistoryNamesTheLine) {
  record(run_with("[]") + "\n{\"format\":1,\n");
  EXPECT_NE(failure().find("runs.jsonl:2"), std::string::npos) << failure();
}

TEST_F(ReportPage, IsAsItWasWhenTheDiskIsFull) {
  record(run_with("[]") + "\n");
  report_page(options_);
  const std::string before = read_file(options_.output);
  write_file(options_.page_template, std::string(100'000, 'x') + std::string(kTemplate));
  // A limit on the size of files fails like a full disk.
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit{};
  ::getrlimit(RLIMIT_FSIZE, &old_limit);
  const rlimit small{.rlim_cur = 50'000, .rlim_max = old_limit.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string message = failure();
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_NE(message.find("cannot write " + options_.output), std::string::npos) << message;
  EXPECT_NE(message.find("free some space"), std::string::npos) << message;
  EXPECT_EQ(read_file(options_.output), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(path("site/bench")), {}), 1);
}

TEST_F(ReportPage, WhoseFolderCannotBeMadeSaysSo) {
  record(run_with("[]") + "\n");
  write_file(path("site"), "a file");
  EXPECT_NE(failure().find("cannot make the folder " + path("site/bench")), std::string::npos)
      << failure();
}

}  // namespace
}  // namespace leantea::lab

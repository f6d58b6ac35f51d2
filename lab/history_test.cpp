#include "history.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "failure.hpp"
#include "temporary.hpp"

namespace leantea::lab {
namespace {

/// A run as the bench command records it. Each number makes another date and another commit.
std::string run_text(int number, double parity = 1.04) {
  return fmt::format(
      R"({{
  "format": 1, "date": "2026-01-{:02}T{:02}:{:02}:00Z", "command": "leantea-lab bench --record",
  "commit": {{"id": "{:040x}", "subject": "subject {}", "author": "A. Tea", "date": "2026-01-01T00:00:00Z",
             "url": "https://example.org/tea/commit/{:040x}", "dirty": false}},
  "scenarios": [{{"name": "health", "servers": [
    {{"name": "ours", "void": false,
      "requests_per_second": {{"median": 80000, "low": 79000, "high": 81000.5, "blocks": 10}},
      "cpu_us_per_request": {{"median": 9.5, "low": 9.4, "high": 9.6}},
      "ratio_to": {{"nginx": {{"requests_per_second": {{"median": {}, "low": 1.0, "high": 1.1}},
                             "cpu_us_per_request": {{"median": 0.8, "low": 0.5, "high": 1.0}}}}}}}},
    {{"name": "nginx", "requests_per_second": {{"median": 77000}}}},
    {{"name": "broken", "void": true, "requests_per_second": {{"median": 1}}}}
  ]}}]
}})",
      1 + number / 1440, number / 60 % 24, number % 60, number, number, number, parity);
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The start of the message of the Failure that `action` throws.
template <typename Action>
std::string failure_of(Action action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no failure";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class History : public testing::Test {
 protected:
  std::string folder() const { return directory_.path() + "/bench-data"; }
  std::string path(const std::string& name) const { return folder() + "/" + name; }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(folder());
    std::ofstream(path(name)) << text;
  }

  JsonValue bench_file() const { return parse_json(text_of(path("http-bench.json")), "x"); }
  std::vector<std::string> commits_in_bench_file() const {
    std::vector<std::string> ids;
    const JsonValue file = bench_file();
    for (const JsonValue& entry : file["entries"][kSuite].elements())
      ids.push_back(entry["commit"]["id"].text().value_or("none"));
    return ids;
  }
  std::vector<std::string> commits_in_runs() const {
    std::vector<std::string> ids;
    for (const RecordedRun& run : read_history(folder())) ids.push_back(run.commit.id);
    return ids;
  }

  TemporaryDirectory directory_;
};

// ---- Recording and reading back -------------------------------------------------------------------------------------

TEST_F(History, IsEmptyWhereNothingWasRecorded) { EXPECT_TRUE(read_history(folder()).empty()); }

TEST_F(History, GivesBackWhatWasRecordedTheOldestFirst) {
  append_run(folder(), run_text(1));
  append_run(folder(), run_text(2));
  const std::vector<RecordedRun> runs = read_history(folder());
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].index, 1U);
  EXPECT_EQ(runs[1].date, "2026-01-01T00:02:00Z");
  EXPECT_EQ(runs[1].commit.subject, "subject 2");
  EXPECT_EQ(runs[1].commit.author, "A. Tea");
  EXPECT_FALSE(runs[1].commit.dirty);
  EXPECT_EQ(runs[1].all["scenarios"].elements()[0]["name"].text(), "health");
}

TEST_F(History, HasOneLineForARunHoweverItsTextIsLaidOut) {
  append_run(folder(), run_text(1));
  const std::string text = text_of(path("runs.jsonl"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 1);
  EXPECT_TRUE(text.ends_with("}\n"));
}

TEST_F(History, RefusesWhatIsNoRunBeforeAnythingIsTouched) {
  EXPECT_TRUE(
      contains(failure_of([&] { append_run(folder(), "{\"format\": 1"); }), "no valid JSON"));
  EXPECT_TRUE(contains(failure_of([&] { append_run(folder(), "{}"); }), "no \"format\""));
  EXPECT_TRUE(contains(failure_of([&] { append_run(folder(), R"({"format": 1})"); }), "no date"));
  const std::string newer =
      failure_of([&] { append_run(folder(), R"({"format": 2, "date": "2026-01-01T00:00:00Z"})"); });
  EXPECT_TRUE(contains(newer, "has format 2, and this program knows format 1")) << newer;
  EXPECT_FALSE(std::filesystem::exists(folder()));
}

TEST_F(History, NamesTheLineOfARunThatItCannotRead) {
  append_run(folder(), run_text(1));
  const std::string good = text_of(path("runs.jsonl"));
  write("runs.jsonl", good + "{\"format\": 7}\n" + good);
  EXPECT_TRUE(
      contains(failure_of([&] { read_history(folder()); }), "runs.jsonl:2: this run has format 7"));
  write("runs.jsonl", good + good + "no json\n");
  EXPECT_TRUE(contains(failure_of([&] { read_history(folder()); }), "runs.jsonl:3:"));
}

TEST_F(History, ReportsALastLineThatWasCutOffAndLeavesItAlone) {
  append_run(folder(), run_text(1));
  const std::string good = text_of(path("runs.jsonl"));
  for (const std::string& cut : {good.substr(0, 50), good.substr(0, good.size() - 1)}) {
    write("runs.jsonl", good + cut);
    EXPECT_TRUE(contains(failure_of([&] { read_history(folder()); }),
                         "runs.jsonl:2: the last line has no line end"));
    EXPECT_TRUE(contains(failure_of([&] { append_run(folder(), run_text(2)); }), "runs.jsonl:2:"));
    EXPECT_EQ(text_of(path("runs.jsonl")), good + cut);
    EXPECT_EQ(commits_in_bench_file().size(), 1U);
  }
}

// ---- github-action-benchmark's format -------------------------------------------------------------------------------

TEST_F(History, BenchFileIsAsTheActionReadsIt) {
  append_run(folder(), run_text(1));
  const JsonValue file = bench_file();
  EXPECT_EQ(file["repoUrl"].text(), "https://example.org/tea");
  EXPECT_EQ(file["lastUpdate"].number(), 1767225660000.0);  // milliseconds
  ASSERT_TRUE(file["entries"].is_object());
  ASSERT_EQ(file["entries"][kSuite].elements().size(), 1U);
  const JsonValue& entry = file["entries"][kSuite].elements()[0];
  EXPECT_EQ(entry["tool"].text(), "customBiggerIsBetter");
  EXPECT_EQ(entry["date"].number(), 1767225660000.0);
  EXPECT_EQ(entry["commit"]["id"].text()->size(), 40U);
  EXPECT_EQ(entry["commit"]["message"].text(), "subject 1");
  EXPECT_EQ(entry["commit"]["timestamp"].text(), "2026-01-01T00:00:00Z");
  EXPECT_TRUE(entry["commit"]["url"].text()->starts_with("https://example.org/tea/commit/"));
  for (const char* role : {"author", "committer"}) {
    EXPECT_EQ(entry["commit"][role]["name"].text(), "A. Tea");
    EXPECT_EQ(entry["commit"][role]["username"].text(), "A. Tea");
  }
  for (const JsonValue& bench : entry["benches"].elements()) {
    EXPECT_TRUE(bench["name"].text());
    EXPECT_TRUE(bench["unit"].text());
    EXPECT_TRUE(bench["value"].number());
    EXPECT_TRUE(bench["range"].text());
  }
}

TEST_F(History, BenchesAreRequestsPerSecondAndParities) {
  const JsonValue benches = parse_json(benches_of(parse_run(run_text(1), "x")), "x");
  std::vector<std::string> found;
  for (const JsonValue& bench : benches.elements()) {
    found.push_back(fmt::format("{}: {} {} ({})", *bench["name"].text(), *bench["value"].number(),
                                *bench["unit"].text(), *bench["range"].text()));
  }
  // The parity of CPU is nginx ÷ ours, so that bigger is better in it, too; a void result is none.
  EXPECT_EQ(found, (std::vector<std::string>{
                       "parity health (ours/nginx): 104 % (100.00 – 110.00)",
                       "CPU parity health (nginx/ours): 125 % (100.00 – 200.00)",
                       "RPS ours health: 80000 req/s (79000 – 81000)",
                       "RPS nginx health: 77000 req/s (77000 – 77000)",
                   }));
}

TEST_F(History, BenchesSayWhatTheirRangeIs) {
  const JsonValue benches = parse_json(benches_of(parse_run(run_text(1), "x")), "x");
  EXPECT_EQ(benches.elements()[2]["extra"].text(), "median of 10 blocks and its 95 % interval");
  EXPECT_EQ(benches.elements()[3]["extra"].text(), "median and its interval");
}

TEST_F(History, LeavesWhatOthersPutIntoTheBenchFile) {
  write("http-bench.json",
        R"({"lastUpdate": 1, "repoUrl": "https://example.org/old", "extra": 1.50e-7,
    "entries": {"Other suite": [{"date": 5, "benches": []}],
                "LeanTea HTTP benchmark": [{"date": 6, "commit": {"id": "abc"}, "benches": []}]}})");
  append_run(folder(), run_text(1));
  const JsonValue file = bench_file();
  EXPECT_EQ(in_one_line(file["entries"]["Other suite"]), R"([{"date":5,"benches":[]}])");
  EXPECT_EQ(in_one_line(file["extra"]), "1.50e-7");
  ASSERT_EQ(commits_in_bench_file().size(), 2U);
  EXPECT_EQ(commits_in_bench_file()[0], "abc");
}

TEST_F(History, RefusesABenchFileOfAnotherKindAndRecordsNothing) {
  write("http-bench.json", "[]");
  EXPECT_TRUE(contains(failure_of([&] { append_run(folder(), run_text(1)); }), "no data file of"));
  EXPECT_FALSE(std::filesystem::exists(path("runs.jsonl")));
}

TEST_F(History, BringsTheBenchFileUpToDateAfterARunThatWasCutShort) {
  append_run(folder(), run_text(1));
  const std::string before = text_of(path("http-bench.json"));
  append_run(folder(), run_text(2));
  // As if the machine had stopped between the two files.
  write("http-bench.json", before);
  append_run(folder(), run_text(3));
  EXPECT_EQ(commits_in_bench_file(), commits_in_runs());
  // What somebody took out of it on purpose stays out.
  write("http-bench.json", in_one_line(bench_file()));
  std::string text = in_one_line(bench_file());
  const std::size_t second = text.find("{\"commit\"", text.find("subject 1"));
  text.erase(text.find("{\"commit\""), second - text.find("{\"commit\""));
  write("http-bench.json", text);
  append_run(folder(), run_text(4));
  EXPECT_EQ(commits_in_bench_file().size(), 3U);
  EXPECT_EQ(commits_in_runs().size(), 4U);
}

// ---- Whole, whatever happens ----------------------------------------------------------------------------------------

/// Appends runs from `first` on, until it is killed.
[[noreturn]] void append_for_ever(const std::string& folder, int first) {
  for (int number = first;; ++number) append_run(folder, run_text(number));
}

TEST_F(History, IsWholeWhenTheOneWhoAppendsIsKilledAtAnyMoment) {
  const auto start = std::chrono::steady_clock::now();
  append_run(folder(), run_text(0));
  std::chrono::nanoseconds delay = std::chrono::steady_clock::now() - start;
  constexpr int kKills = 60;
  int number = 1;
  for (int kill = 0; kill < kKills; ++kill) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) append_for_ever(folder(), number);
    std::this_thread::sleep_for(delay);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    // Both files can be read, and the second lacks nothing but the newest runs.
    const std::vector<std::string> runs = commits_in_runs();
    const std::vector<std::string> benches = commits_in_bench_file();
    ASSERT_LE(benches.size(), runs.size());
    ASSERT_TRUE(std::equal(benches.begin(), benches.end(), runs.begin()));
    // The next one is killed sooner when this one got through, later when it did not: around the moment that matters.
    const bool got_through = static_cast<int>(runs.size()) > number;
    delay = got_through ? delay * 7 / 10 : delay * 13 / 10;
    number = static_cast<int>(runs.size());
    ASSERT_EQ(runs.back(), fmt::format("{:040x}", number - 1)) << "no run is lost or doubled";
  }
  append_run(folder(), run_text(number));
  EXPECT_EQ(commits_in_bench_file(), commits_in_runs());
  EXPECT_GT(number, kKills / 4) << "the children were killed before they did anything";
}

/// Runs `action` in a child; its Failure's message, or why there is none.
template <typename Action>
std::string failure_in_child(Action action) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string message = failure_of(action);
    const ssize_t written = ::write(ends[1], message.data(), message.size());
    ::_exit(written < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  std::string message(4096, '\0');
  const ssize_t got = ::read(ends[0], message.data(), message.size());
  message.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return message;
}

/// As a disk that has room for that many bytes of a file.
void limit_files_to(std::size_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{.rlim_cur = bytes, .rlim_max = bytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

TEST_F(History, IsAsBeforeWhenTheDiskIsFull) {
  append_run(folder(), run_text(1));
  append_run(folder(), run_text(2));
  const std::string runs = text_of(path("runs.jsonl"));
  const std::string benches = text_of(path("http-bench.json"));
  for (const std::size_t room : {std::size_t{0}, std::size_t{100}, runs.size(), runs.size() + 1}) {
    const std::string message = failure_in_child([&] {
      limit_files_to(room);
      append_run(folder(), run_text(3));
    });
    EXPECT_TRUE(contains(message, "cannot write")) << message;
    EXPECT_TRUE(contains(message, "free some space")) << message;
    EXPECT_EQ(text_of(path("runs.jsonl")), runs);
    EXPECT_EQ(text_of(path("http-bench.json")), benches);
    EXPECT_FALSE(std::filesystem::exists(path(".runs.jsonl.new")));
  }
}

TEST_F(History, SaysWhatIsRecordedWhenTheDiskIsFullBetweenTheFiles) {
  // A long bench file, so that there is room for the other one alone.
  write("http-bench.json",
        R"({"entries": {"Other suite": [")" + std::string(100'000, 'x') + R"("]}})");
  const std::string message = failure_in_child([&] {
    limit_files_to(20'000);
    append_run(folder(), run_text(1));
  });
  EXPECT_TRUE(contains(message, "The run is in")) << message;
  EXPECT_EQ(commits_in_runs().size(), 1U);
  EXPECT_TRUE(commits_in_bench_file().empty());
  append_run(folder(), run_text(2));
  EXPECT_EQ(commits_in_bench_file(), commits_in_runs());
}

TEST_F(History, LosesNoRunOfTwoWhoAppendAtOnce) {
  constexpr int kEach = 25;
  std::vector<pid_t> children;
  for (int child = 0; child < 2; ++child) {
    const pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      for (int i = 0; i < kEach; ++i) append_run(folder(), run_text(1000 * (child + 1) + i));
      ::_exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(commits_in_runs().size(), 2U * kEach);
  EXPECT_EQ(commits_in_bench_file(), commits_in_runs());
}

TEST_F(History, CannotBeWrittenWhereTheFolderIsAFile) {
  std::ofstream(folder()) << "a file";
  EXPECT_TRUE(contains(failure_of([&] { append_run(folder(), run_text(1)); }), "cannot write"));
}

// ---- Series ---------------------------------------------------------------------------------------------------------

TEST_F(History, SeriesHaveAPointForEachRun) {
  append_run(folder(), run_text(1, 1.04));
  append_run(folder(), run_text(2, 1.02));
  const std::vector<Series> all = series_of(read_history(folder()));
  std::vector<std::string> keys;
  for (const Series& series : all) keys.push_back(series.key);
  EXPECT_EQ(keys,
            (std::vector<std::string>{"rps-parity/health/ours", "cpu-parity/health/ours",
                                      "rps/health/ours", "cpu/health/ours", "rps/health/nginx"}));
  const Series& parity = all[0];
  EXPECT_EQ(parity.title, "parity health (ours/nginx)");
  EXPECT_EQ(parity.unit, "%");
  EXPECT_TRUE(parity.bigger_is_better);
  EXPECT_EQ(parity.scenario, "health");
  EXPECT_EQ(parity.server, "ours");
  ASSERT_EQ(parity.points.size(), 2U);
  EXPECT_DOUBLE_EQ(parity.points[0].value, 104);
  EXPECT_DOUBLE_EQ(parity.points[1].value, 102);
  EXPECT_DOUBLE_EQ(parity.points[1].high, 110);
  EXPECT_EQ(parity.points[1].subject, "subject 2");
  EXPECT_EQ(parity.points[1].run, 1U);
  EXPECT_FALSE(all[3].bigger_is_better) << "CPU per request";
}

TEST(ReplaceFile, PutsNothingInThePlaceOfAFolderOrADevice) {
  const TemporaryDirectory directory;
  EXPECT_THROW(replace_file(directory.path(), "text"), Failure);
  EXPECT_TRUE(std::filesystem::is_directory(directory.path()));
  EXPECT_THROW(replace_file("/dev/null", "text"), Failure);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace leantea::lab

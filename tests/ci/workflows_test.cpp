// The workflow files: what they call is there, and what they take from others stays what it is.
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shell.hpp"

namespace leantea::ci {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = LEANTEA_SOURCE_DIR;

std::vector<fs::path> workflows() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kRoot / ".github" / "workflows"))
    files.push_back(entry.path());
  return files;
}

/// The first groups of all matches.
std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match)
    found.push_back((*match)[1]);
  return found;
}

/// The value of the one line `name: value`, without quotes; empty when there is none.
std::string setting(const std::string& text, const std::string& name) {
  const auto found = matches(text, "\n *" + name + ": *'?([^'\n]*)'?");
  return found.size() == 1 ? found.front() : "";
}

std::string bench_workflow() { return text_of(kRoot / ".github/workflows/bench.yml"); }

TEST(Workflows, AreYaml) {
  if (run(kRoot, "python3 -c 'import yaml'").code != 0) GTEST_SKIP() << "needs python3-yaml";
  for (const fs::path& file : workflows()) {
    const Outcome outcome = run(kRoot, R"(python3 - ')" + file.string() + R"(' <<'PYTHON'
import sys, yaml
workflow = yaml.safe_load(open(sys.argv[1]))
assert workflow[True], 'no "on"'  # YAML 1.1 reads the word as a truth value, GitHub does not
assert workflow['jobs']
for name, job in workflow['jobs'].items():
    assert job['runs-on'] and job['timeout-minutes'], name
    for step in job['steps']:
        assert ('run' in step) != ('uses' in step), step
PYTHON)");
    EXPECT_EQ(outcome.code, 0) << file << "\n" << outcome.output;
  }
}

TEST(Workflows, CallCommandsThatExist) {
  const std::string help = run(kRoot, "./dev help").output;
  std::size_t calls = 0;
  for (const fs::path& file : workflows()) {
    const std::string text = text_of(file);
    for (const std::string& command : matches(text, "run: \\./dev ([a-z-]+)")) {
      ++calls;
      EXPECT_TRUE(std::regex_search(help, std::regex("\n  " + command + "[ \n]")))
          << file << ": ./dev help does not know " << command;
    }
    for (const std::string& program : matches(text, "run: (\\.[a-z]+/[^ \n]+)")) {
      ++calls;
      EXPECT_EQ(run(kRoot, "test -x " + program).code, 0) << file << ": " << program;
    }
  }
  EXPECT_GE(calls, 6U);
}

TEST(Workflows, PinWhatTheyTakeFromOthers) {
  // GitHub's own actions by a version at least, all others by a commit: a tag can be moved.
  const std::regex pinned("actions/[a-z-]+@v[0-9]+|[A-Za-z0-9_./-]+@[0-9a-f]{40}");
  for (const fs::path& file : workflows()) {
    for (const std::string& action : matches(text_of(file), "uses: *([^ \n]+)"))
      EXPECT_TRUE(std::regex_match(action, pinned)) << file << ": " << action;
  }
}

TEST(BenchWorkflow, IsNotStartedByItsOwnCommit) {
  const std::string text = bench_workflow();
  EXPECT_NE(text.find("paths-ignore: ['bench-data/**']"), std::string::npos);
  EXPECT_NE(text.find("!contains(github.event.head_commit.message, '[skip ci]')"),
            std::string::npos);
  EXPECT_EQ(setting(text, "branches"), "[main]");
}

TEST(BenchWorkflow, AlertsOnWhatWasRecorded) {
  const std::string text = bench_workflow();
  EXPECT_EQ(setting(text, "output-file-path"), "build/bench-ci/benches.json");
  EXPECT_EQ(setting(text, "external-data-json-path"), "bench-data/http-bench.json");
  EXPECT_EQ(setting(text, "save-data-file"), "false") << "the lab has recorded the run";
  EXPECT_EQ(setting(text, "fail-on-alert"), "false");
  EXPECT_EQ(setting(text, "tool"), "customBiggerIsBetter");
  // The suite's name in the file has to be the lab's, or the action compares with nothing.
  const auto suite = matches(text_of(kRoot / "lab/history.hpp"), "kSuite = \"([^\"]*)\"");
  ASSERT_EQ(suite.size(), 1U);
  EXPECT_NE(text.find("\n          name: " + suite.front() + "\n"), std::string::npos);
  // 80 % of the figure before, said as the action says it: before ÷ now.
  EXPECT_EQ(setting(text, "alert-threshold"), "125%");
}

}  // namespace
}  // namespace leantea::ci

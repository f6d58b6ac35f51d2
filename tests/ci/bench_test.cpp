// The steps of bench.yml on this machine: `./dev bench-ci` with runs of a moment, and `./dev bench-publish` to a
// repository on this disk.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "shell.hpp"

namespace leantea::ci {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = LEANTEA_SOURCE_DIR;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The steps of bench-ci in a few seconds. `./dev test` names the release build, which has just been made then.
TEST(BenchCi, MeasuresRecordsLooksAndMakesThePage) {
  if (std::getenv("LEANTEA_RELEASE_BIN") == nullptr)
    GTEST_SKIP() << "needs the release build: run ./dev test";
  for (const char* program : {"wrk", "nginx", "node", "npm"}) {
    const std::string search = "PATH=$PATH:/usr/sbin command -v ";
    if (run("/", search + program).code != 0) GTEST_SKIP() << "needs " << program;
  }
  const Folder folder;
  const auto in = [&](const char* name) { return (folder.path() / name).string(); };
  const Outcome outcome =
      run(kRoot, "GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=" + in("summary.md") +
                     " ./dev bench-ci --duration 0.1 --blocks 1 --history " + in("data") +
                     " --site " + in("site") + " --out " + in("out"));
  // The page is the last step, and its first making needs npm's registry.
  const bool offline = contains(outcome.output, "page: npm ci failed");
  ASSERT_EQ(outcome.code, offline ? 1 : 0) << outcome.output;
  const std::string runs = text_of(in("data/runs.jsonl"));
  for (const char* scenario : {"health", "json", "echo-5"})
    EXPECT_TRUE(contains(runs, "{\"name\":\"" + std::string(scenario) + "\"")) << scenario;
  EXPECT_TRUE(contains(text_of(in("data/http-bench.json")), "\"parity health (ours/nginx)\""));
  EXPECT_TRUE(contains(text_of(in("out/benches.json")), "\"RPS ours echo-5\""));
  EXPECT_TRUE(contains(text_of(in("out/check.txt")), "no change to the worse"));
  EXPECT_TRUE(contains(text_of(in("summary.md")), "no change to the worse"));
  if (offline) GTEST_SKIP() << "all but the page: npm's registry was not reached";
  EXPECT_TRUE(contains(text_of(in("site/bench/index.html")), "parity")) << outcome.output;
}

TEST(BenchCi, RefusesWhatItDoesNotKnow) {
  const Outcome unknown = run(kRoot, "./dev bench-ci --rounds 3");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_TRUE(contains(unknown.output, "there is no '--rounds'")) << unknown.output;
  EXPECT_TRUE(contains(run(kRoot, "./dev bench-ci --blocks").output, "--blocks needs a value"));
}

/// A checkout with a record and a page, and the bare repository that it was pushed to.
class BenchPublish : public testing::Test {
 protected:
  void SetUp() override {
    if (run("/", "git --version").code != 0) GTEST_SKIP() << "needs git";
    must("git init -q --bare -b main remote.git && git init -q -b main checkout", folder_.path());
    fs::copy_file(kRoot / "dev", checkout() / "dev");
    fs::copy_file(kRoot / ".gitignore", checkout() / ".gitignore");
    must(
        "git config user.name Tea && git config user.email tea@example.org && git add -A && "
        "git commit -q -m first && git remote add origin ../remote.git && git push -q origin main");
    write(checkout() / "bench-data/runs.jsonl", "{\"run\": 1}\n");
    write(checkout() / "bench-data/.lock", "");
    write(checkout() / "site/bench/index.html", "page 1");
  }

  fs::path checkout() const { return folder_.path() / "checkout"; }

  /// What the command prints. It has to succeed.
  std::string must(const std::string& command, const fs::path& where) const {
    const Outcome outcome = run(where, command);
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.output;
    return outcome.output;
  }
  std::string must(const std::string& command) const { return must(command, checkout()); }

  std::string remote(const std::string& git_command) const {
    return must("git " + git_command, folder_.path() / "remote.git");
  }

  Folder folder_;
};

TEST_F(BenchPublish, PushesTheRecordWithACommitThatStartsNothing) {
  must("./dev bench-publish");
  EXPECT_EQ(remote("show main:bench-data/runs.jsonl"), "{\"run\": 1}\n");
  const std::string subject = remote("log -1 --format=%s main");
  EXPECT_TRUE(contains(subject, "bench: record the run of ")) << subject;
  EXPECT_TRUE(contains(subject, "[skip ci]")) << subject;
  EXPECT_EQ(remote("diff-tree --no-commit-id --name-only -r main"), "bench-data/runs.jsonl\n")
      << "and nothing else of the checkout";
}

TEST_F(BenchPublish, PutsThePageBesideWhatGhPagesHas) {
  must("./dev bench-publish");
  EXPECT_EQ(remote("ls-tree -r --name-only gh-pages"), ".nojekyll\nbench/index.html\n");
  must(
      "git clone -q -b gh-pages ../remote.git ../pages && cd ../pages && echo hello >index.html && "
      "git config user.name Tea && git config user.email tea@example.org && git add -A && "
      "git commit -q -m docs && git push -q origin gh-pages");
  write(checkout() / "site/bench/index.html", "page 2");
  must("./dev bench-publish");
  EXPECT_EQ(remote("show gh-pages:bench/index.html"), "page 2");
  EXPECT_EQ(remote("show gh-pages:index.html"), "hello\n");
  EXPECT_TRUE(contains(remote("log -1 --format=%s gh-pages"), "[skip ci]"));
  EXPECT_EQ(must("git status --porcelain"), "");
}

TEST_F(BenchPublish, GoesOnTopOfWhatWasPushedMeanwhile) {
  must(
      "git clone -q ../remote.git ../other && cd ../other && echo new >file && "
      "git config user.name Tea && git config user.email tea@example.org && git add -A && "
      "git commit -q -m other && git push -q origin main");
  must("./dev bench-publish");
  EXPECT_EQ(remote("log --format=%s main~1"), "other\nfirst\n");
}

TEST_F(BenchPublish, AgainChangesNothing) {
  must("./dev bench-publish");
  const std::string before = remote("rev-parse main gh-pages");
  must("./dev bench-publish");
  EXPECT_EQ(remote("rev-parse main gh-pages"), before);
}

TEST_F(BenchPublish, SaysWhatIsMissing) {
  const Outcome no_remote = run(checkout(), "./dev bench-publish elsewhere");
  EXPECT_EQ(no_remote.code, 1);
  EXPECT_TRUE(contains(no_remote.output, "there is no remote 'elsewhere'")) << no_remote.output;
  fs::remove_all(checkout() / "site");
  const Outcome no_page = run(checkout(), "./dev bench-publish");
  EXPECT_EQ(no_page.code, 1);
  EXPECT_TRUE(contains(no_page.output, "there is no page: run ./dev bench-ci first"));
}

}  // namespace
}  // namespace leantea::ci

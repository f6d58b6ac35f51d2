#include "commit.hpp"

#include <gtest/gtest.h>

namespace leantea::lab {
namespace {

TEST(CommitUrl, IsThePageOfTheHost) {
  const std::string page = "https://example.org/lean/tea/commit/abc";
  EXPECT_EQ(commit_url("https://example.org/lean/tea.git", "abc"), page);
  EXPECT_EQ(commit_url("https://example.org/lean/tea", "abc"), page);
  EXPECT_EQ(commit_url("git@example.org:lean/tea.git", "abc"), page);
  EXPECT_EQ(commit_url("ssh://git@example.org/lean/tea.git", "abc"), page);
}

TEST(CommitUrl, LeavesOutWhoLogsIn) {
  EXPECT_EQ(commit_url("https://name:secret@example.org/lean/tea.git", "abc"),
            "https://example.org/lean/tea/commit/abc");
}

TEST(CommitUrl, IsEmptyForARepositoryOnThisMachine) {
  EXPECT_EQ(commit_url("/srv/git/tea", "abc"), "");
  EXPECT_EQ(commit_url("../tea", "abc"), "");
  EXPECT_EQ(commit_url("file:///srv/git/tea.git", "abc"), "");
  EXPECT_EQ(commit_url("", "abc"), "");
}

}  // namespace
}  // namespace leantea::lab

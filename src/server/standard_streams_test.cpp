#include "server/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <initializer_list>

#include <gtest/gtest.h>

namespace leantea::server {
namespace {

/// What number the next file gets in a process that had closed these streams.
int next_file_after_closing(std::initializer_list<int> streams) {
  const int before = ::open("/dev/null", O_RDONLY);
  ::close(before);
  for (const int stream : streams) ::close(stream);
  occupy_standard_streams();
  return ::open("/dev/null", O_RDONLY) == before ? 0 : 1;
}

// In processes of their own, for the tests' streams are closed.
TEST(StandardStreams, AreNeverTheNumbersOfOtherFiles) {
  EXPECT_EXIT(std::_Exit(next_file_after_closing({0, 1, 2})), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::_Exit(next_file_after_closing({1})), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::_Exit(next_file_after_closing({0, 2})), testing::ExitedWithCode(0), "");
}

TEST(StandardStreams, AreLeftAloneWhereTheyAreOpen) {
  EXPECT_EXIT(std::_Exit(next_file_after_closing({})), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace leantea::server

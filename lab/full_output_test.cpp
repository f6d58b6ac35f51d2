// A disk that is full under the standard output is an error that is said, not a short file and exit code 0.
#include <sys/wait.h>

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "servers.hpp"

namespace leantea::lab {
namespace {

struct Ended {
  int code = -1;
  std::string said;  ///< on the standard error
};

/// Runs the lab with a standard output that has no room.
Ended run_without_room(const std::string& arguments) {
  const std::string command =
      "'" + program_directory() + "/leantea-lab' " + arguments + " 2>&1 >/dev/full";
  Ended ended;
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return ended;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) ended.said.push_back(static_cast<char>(c));
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

TEST(FullOutput, IsSaid) {
  for (const char* arguments :
       {"scenarios", "scenarios health", "peers", "--help", "bench --help"}) {
    const Ended ended = run_without_room(arguments);
    EXPECT_EQ(ended.code, 1) << arguments;
    EXPECT_NE(ended.said.find("cannot write all of the results to the standard output"),
              std::string::npos)
        << arguments << ": " << ended.said;
  }
}

}  // namespace
}  // namespace leantea::lab

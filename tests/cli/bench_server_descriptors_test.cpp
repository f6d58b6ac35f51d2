// A bench server that is started with few descriptors, or without its standard streams. With libuv it was aborted, and
// without streams it wrote its first lines into one of its own sockets, which ended it by SIGPIPE.

#include <signal.h>
#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

#include "cli/bench_server.hpp"
#include "support/sanitized.hpp"

namespace leantea::cli {
namespace {

using BenchServerDescriptors = BenchServer;

TEST_F(BenchServerDescriptors, AreTooFewForAServerOrEnough) {
  if (test::kSanitized) GTEST_SKIP() << "UBSan asks a pipe of its own whether memory can be read";
  for (const std::string backend : {"reactor", "uring", "threads", "libuv"}) {
    for (int count = 7; count <= 12; ++count) {
      Process process({"sh", "-c", "ulimit -n $2 && exec \"$0\" --port 0 --backend \"$1\"",
                       program(), backend, std::to_string(count)});
      const std::string said = process.out_until("backend ");
      process.signal(SIGTERM);
      EXPECT_EQ(process.wait(), said.empty() ? 2 : 0) << backend << ' ' << count;
    }
  }
}

TEST_F(BenchServerDescriptors, AreNotTakenForTheStandardStreams) {
  const std::string path = "bench_server_streams.sock";
  for (const std::string closed : {"<&- >&- 2>&-", ">&-", "<&- >&-"}) {
    Process process({"sh", "-c", "exec \"$0\" --address \"unix:$1\" " + closed, program(), path});
    for (int i = 0; i < 1000 && ::access(path.c_str(), F_OK) != 0; ++i) ::usleep(10'000);
    EXPECT_EQ(::access(path.c_str(), F_OK), 0) << closed;
    ::usleep(50'000);  // it has said where it listens by then, or tried to
    process.signal(SIGTERM);
    EXPECT_EQ(process.wait(), 0) << closed;
  }
}

TEST_F(BenchServerDescriptors, AreFullAndItServesAllTheSame) {
  Process process({"sh", "-c", "exec \"$0\" --port 0 >/dev/full", program()});
  EXPECT_TRUE(has(process.err_until("standard output"), "it serves"));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 0);
}

}  // namespace
}  // namespace leantea::cli

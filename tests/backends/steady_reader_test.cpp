// A client that reads slowly, but all the time, gets all of its answer. The kernel used to take megabytes for it and
// told nothing until a third of them was gone, which took longer than the write timeout: the client was reset.

#include <chrono>
#include <string>
#include <thread>

#include "backend_test.hpp"

namespace leantea::test {
namespace {

BACKEND_SUITE(SteadyReader);

TEST_P(SteadyReader, IsNotTakenForOneThatDoesNotRead) {
  options.limits.write_timeout = 500ms;
  serve();
  Client client = connect();
  client.send(get("/bytes/50000000"));
  const auto end = std::chrono::steady_clock::now() + 3s;
  while (std::chrono::steady_clock::now() < end) {
    ASSERT_TRUE(client.skip(20'000));
    std::this_thread::sleep_for(20ms);
  }
}

}  // namespace
}  // namespace leantea::test

// main() of the lab's tests. The lab starts programs through itself (process.hpp), and in the tests that is
// this program.
#include <gtest/gtest.h>

#include "interrupt.hpp"
#include "process.hpp"

int main(int argc, char** argv) {
  if (const auto code = leantea::lab::launch_if_asked(argc, argv)) return *code;
  leantea::lab::adopt_orphans();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

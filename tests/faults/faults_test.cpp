// Whole lives of connections under faults, from seeds. A failing seed is printed; LEANTEA_SEED=N plays that
// one alone, LEANTEA_SEEDS=N plays so many (default 3000).
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "faults/simulation.hpp"

namespace leantea::test {
namespace {

std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
  const char* const text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : fallback;
}

TEST(Faults, EveryScheduleKeepsTheContracts) {
  const std::uint64_t alone = from_environment("LEANTEA_SEED", 0);
  if (alone != 0) {
    EXPECT_EQ(simulate(alone), "") << "seed " << alone;
    return;
  }
  int failures = 0;
  const std::uint64_t seeds = from_environment("LEANTEA_SEEDS", 3000);
  for (std::uint64_t seed = 1; seed <= seeds && failures < 5; ++seed) {
    const std::string error = simulate(seed);
    EXPECT_EQ(error, "") << "again with LEANTEA_SEED=" << seed;
    if (!error.empty()) ++failures;
  }
}

}  // namespace
}  // namespace leantea::test

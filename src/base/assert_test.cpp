#include "base/assert.hpp"

#include <gtest/gtest.h>

namespace leantea::base {
namespace {

TEST(AssertDeathTest, SaysWhatIsBrokenAndWhere) {
  const int handlers = 0;
  EXPECT_DEATH(LEANTEA_ASSERT(handlers > 0),
               "leantea: assert_test.cpp:[0-9]+: assertion failed: handlers > 0");
}

TEST(Assert, EvaluatesItsConditionOnce) {
  int calls = 0;
  LEANTEA_ASSERT(++calls == 1);
  EXPECT_EQ(calls, 1);
}

// It is an expression, so that it can stand in a constexpr function and beside a comma.
constexpr int half(int even) { return LEANTEA_ASSERT(even % 2 == 0), even / 2; }
static_assert(half(8) == 4);

}  // namespace
}  // namespace leantea::base

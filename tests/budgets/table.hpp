// The budgets: what one request or one connection may cost, each with its bound. A figure over its bound
// fails a test that names the bound, the figure and the figure that was last measured.
//
// To change a bound, change its row here and say why in the commit.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace leantea::test {

struct Budget {
  std::string_view name;
  double bound;     ///< not more than this
  double measured;  ///< when the row was last touched
};

inline constexpr Budget kBudgets[] = {
    // Counted in this program.
    {"allocations per /health", 0, 0},
    {"allocations per /json", 0, 0},
    {"allocations per /echo, 5 bytes", 0, 0},
    {"pieces of output per 16 pipelined requests", 1, 1},
    {"sizeof(Connection)", 152, 136},
    {"sends per receive", 1, 1},
    {"copied bytes per request beyond the answer", 0, 0},
    {"copied bytes of content of 100,000", 0, 0},
    // Counted in the release bench server by leantea-lab.
    {"recv calls per request", 1.001, 1},
    {"send calls per request", 1.001, 1},
    {"epoll_ctl calls per request", 0, 0},
    {"other calls per request", 0.02, 0},
    {"instructions per /health", 1231, 1207},
    {"instructions per /json", 1904, 1867},
    {"instructions per /echo", 1664, 1632},
    {"bytes per idle connection", 192, 145},
    {"resident bytes at start", 4'000'000, 3'649'536},
};

/// Expects `figure` within the budget `name`.
inline void expect_within(std::string_view name, double figure) {
  for (const Budget& budget : kBudgets) {
    if (budget.name != name) continue;
    EXPECT_LE(figure, budget.bound)
        << name << ": bound " << budget.bound << ", now " << figure << ", was " << budget.measured;
    return;
  }
  FAIL() << "no budget is called " << name;
}

}  // namespace leantea::test

#include "confinement.hpp"

#include <gtest/gtest.h>

#include "interrupt.hpp"
#include "machine.hpp"
#include "process.hpp"

namespace leantea::lab {
namespace {

// By whichever way this machine permits: what a program that never rests gets of its core.
TEST(Confinement, LeavesAProgramAPartOfItsCore) {
  const std::vector<int> core{usable_cpus().front()};
  Process busy({.words = {"sh", "-c", "while :; do :; done"}, .cpus = core});
  const auto share_for = [&busy](std::chrono::milliseconds time) {
    const auto before = busy.cpu().spent;
    const auto start = Clock::now();
    pause_for(time);
    return std::chrono::duration<double>(busy.cpu().spent - before) / (Clock::now() - start);
  };
  {
    const Confinement confinement(busy.group(), core, kConfinedShare);
    EXPECT_FALSE(confinement.by().empty());
    pause_for(std::chrono::milliseconds(50));
    const double share = share_for(std::chrono::milliseconds(400));
    EXPECT_LT(share, 0.75) << confinement.by();
    EXPECT_GT(share, 0.02) << confinement.by();
  }
  EXPECT_GT(share_for(std::chrono::milliseconds(200)), 0) << "it goes on afterwards";
}

}  // namespace
}  // namespace leantea::lab

#include "base/timer_wheel.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace leantea::base {
namespace {

constexpr Millis kSecond = 1000;
constexpr Millis kHour = 3600 * kSecond;
constexpr Millis kDay = 24 * kHour;

/// A wheel, and the times of the timers that fired at each step.
struct Wheel {
  explicit Wheel(Millis now = 0) : wheel(now) {}

  /// The due times of what fires at `now`, sorted.
  std::vector<Millis> fired(Millis now) {
    std::vector<Millis> times;
    for (TimerNode* node = wheel.advance(now); node != nullptr; node = node->next) {
      EXPECT_FALSE(node->is_set());
      times.push_back(node->due);
    }
    std::ranges::sort(times);
    return times;
  }

  TimerWheel wheel;
};

using Times = std::vector<Millis>;

TEST(TimerWheel, FiresAtItsTimeAndNotBefore) {
  for (const Millis start : {Millis{0}, Millis{1}, Millis{63}, Millis{64}, 123'456'789 * kSecond}) {
    for (const Millis wait :
         {Millis{1}, Millis{2}, Millis{63}, Millis{64}, Millis{65}, Millis{4095}, Millis{4096},
          Millis{4097}, Millis{262'143}, Millis{262'144}, Millis{16'777'216}, 11 * kDay, 13 * kDay,
          400 * kDay}) {
      Wheel w(start);
      TimerNode node;
      w.wheel.set(node, start + wait);
      EXPECT_TRUE(node.is_set());
      EXPECT_EQ(w.fired(start + wait - 1), Times{}) << wait;
      EXPECT_EQ(w.fired(start + wait), Times{start + wait}) << wait;
      EXPECT_FALSE(node.is_set());
      EXPECT_EQ(w.fired(start + wait + 500 * kDay), Times{}) << wait;
    }
  }
}

TEST(TimerWheel, FiresLateWhenItIsAskedLate) {
  Wheel w(100);
  TimerNode a, b, c;
  w.wheel.set(a, 150);
  w.wheel.set(b, 100 + kHour);
  w.wheel.set(c, 100 + 20 * kDay);
  EXPECT_EQ(w.fired(100 + 400 * kDay), (Times{150, 100 + kHour, 100 + 20 * kDay}));
}

TEST(TimerWheel, TimeInThePastFiresAtTheNextAdvance) {
  Wheel w(1000);
  TimerNode a, b;
  w.wheel.set(a, 5);
  EXPECT_EQ(w.wheel.next_due(), 1000);
  EXPECT_EQ(w.fired(1000), Times{5});
  EXPECT_EQ(w.fired(1000), Times{});
  w.wheel.set(b, 1000);
  EXPECT_EQ(w.fired(1000), Times{1000});
}

TEST(TimerWheel, SettingASetTimerMovesIt) {
  Wheel w;
  TimerNode node;
  w.wheel.set(node, 10);
  w.wheel.set(node, kHour);
  EXPECT_EQ(w.fired(kHour - 1), Times{});
  w.wheel.set(node, kHour + 5);
  EXPECT_EQ(w.fired(kHour + 4), Times{});
  w.wheel.set(node, kHour + 4);
  EXPECT_EQ(w.fired(kHour + 4), Times{kHour + 4});
}

TEST(TimerWheel, CancelledTimerDoesNotFire) {
  Wheel w;
  TimerNode first, middle, last, alone, never_set;
  for (TimerNode* node : {&first, &middle, &last}) w.wheel.set(*node, 50);
  w.wheel.set(alone, kHour);
  w.wheel.cancel(never_set);
  w.wheel.cancel(middle);
  EXPECT_FALSE(middle.is_set());
  w.wheel.cancel(middle);
  w.wheel.cancel(alone);
  EXPECT_EQ(w.fired(2 * kHour), (Times{50, 50}));
}

TEST(TimerWheel, FiresInTheOrderOfTime) {
  TimerWheel wheel(0);
  std::deque<TimerNode> nodes(1000);
  std::mt19937 random(1);
  for (TimerNode& node : nodes) wheel.set(node, static_cast<Millis>(random() % 100'000));
  Millis last = 0;
  for (TimerNode* node = wheel.advance(kHour); node != nullptr; node = node->next) {
    EXPECT_LE(last, node->due);
    last = node->due;
  }
}

TEST(TimerWheel, SaysHowLongALoopMaySleep) {
  Wheel w(1000);
  EXPECT_EQ(w.wheel.next_due(), -1);
  TimerNode node, other;
  w.wheel.set(node, 1020);
  EXPECT_EQ(w.wheel.next_due(), 1020);
  w.wheel.set(other, 1010);
  EXPECT_EQ(w.wheel.next_due(), 1010);
  w.wheel.cancel(other);
  EXPECT_EQ(w.wheel.next_due(), 1020);
  w.wheel.cancel(node);
  EXPECT_EQ(w.wheel.next_due(), -1);
}

// Sleeping until next_due() each time gets there in at most a step per wheel.
TEST(TimerWheel, SleepingLoopWakesSeldom) {
  for (const Millis wait : {Millis{5}, 5 * kSecond, 60 * kSecond, kHour, 11 * kDay}) {
    TimerWheel wheel(987'654'321);
    TimerNode node;
    wheel.set(node, 987'654'321 + wait);
    int steps = 0;
    while (node.is_set()) {
      ASSERT_LE(wheel.next_due(), node.due);
      wheel.advance(wheel.next_due());
      ++steps;
    }
    EXPECT_LE(steps, 5) << wait;
  }
}

TEST(TimerWheel, TimerWithoutEndIsFine) {
  Wheel w(1000);
  TimerNode node;
  w.wheel.set(node, std::numeric_limits<Millis>::max());
  EXPECT_EQ(w.fired(1000 + 4000 * kDay), Times{});
  EXPECT_TRUE(node.is_set());
  w.wheel.cancel(node);
  EXPECT_EQ(w.wheel.next_due(), -1);
}

TEST(TimerWheel, DueTimersMayBeMovedAndCancelledBeforeTheirTurn) {
  TimerWheel wheel(0);
  std::deque<TimerNode> nodes(6);
  for (std::size_t i = 0; i < nodes.size(); ++i) wheel.set(nodes[i], static_cast<Millis>(10 * i));
  wheel.turn_to(100);
  EXPECT_EQ(wheel.next_due(), 100);  // do not sleep: there is something to take
  EXPECT_EQ(wheel.take_due(), &nodes[0]);
  EXPECT_FALSE(nodes[0].is_set());
  wheel.cancel(nodes[1]);    // the first
  wheel.cancel(nodes[5]);    // the last
  wheel.set(nodes[3], 200);  // one in the middle
  EXPECT_EQ(wheel.take_due(), &nodes[2]);
  EXPECT_EQ(wheel.take_due(), &nodes[4]);
  EXPECT_EQ(wheel.take_due(), nullptr);
  wheel.set(nodes[0], 150);
  wheel.turn_to(200);
  EXPECT_EQ(wheel.take_due(), &nodes[0]);
  EXPECT_EQ(wheel.take_due(), &nodes[3]);
  EXPECT_EQ(wheel.take_due(), nullptr);
  EXPECT_EQ(wheel.next_due(), -1);
}

TEST(TimerWheel, TimerThatIsSetAgainAtOnceDoesNotHoldTheLoop) {
  TimerWheel wheel(0);
  TimerNode node;
  wheel.set(node, 10);
  int turns = 0;
  wheel.turn_to(10);
  while (TimerNode* due = wheel.take_due()) {
    wheel.set(*due, 10);
    ++turns;
  }
  EXPECT_EQ(turns, 1);
  EXPECT_EQ(wheel.advance(10), &node);
}

TEST(TimerWheel, TurningTwiceKeepsWhatWasNotTaken) {
  TimerWheel wheel(0);
  TimerNode a, b;
  wheel.set(a, 10);
  wheel.set(b, 20);
  wheel.turn_to(10);
  wheel.turn_to(20);
  EXPECT_EQ(wheel.take_due(), &a);
  EXPECT_EQ(wheel.take_due(), &b);
  EXPECT_EQ(wheel.take_due(), nullptr);
}

TEST(TimerWheelDeathTest, TimeDoesNotGoBack) {
  TimerWheel wheel(1000);
  EXPECT_DEATH(wheel.advance(999), "now");
}

// Random sets, moves, cancels and steps of all sizes, against a multimap.
TEST(TimerWheel, BehavesAsASortedList) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    // Steps and waits spread over all wheels and beyond: a random number of random bits.
    const auto spread = [&](unsigned bits) {
      return static_cast<Millis>(random() >> (63 - random() % bits));
    };
    Millis now = seed % 2 == 0 ? 0 : spread(40);
    TimerWheel wheel(now);
    std::deque<TimerNode> nodes(200);
    std::multimap<Millis, TimerNode*> model;
    const auto forget = [&](TimerNode& node) {
      std::erase_if(model, [&](const auto& entry) { return entry.second == &node; });
    };
    for (int step = 0; step < 3000; ++step) {
      TimerNode& node = nodes[random() % nodes.size()];
      switch (random() % 4) {
        case 0:
        case 1: {
          const Millis due = random() % 16 == 0 ? now - spread(12) : now + spread(34);
          wheel.set(node, due);
          forget(node);
          model.emplace(due, &node);
          break;
        }
        case 2:
          wheel.cancel(node);
          forget(node);
          break;
        default: {
          // Mostly small steps, else no timer would ever be near.
          now += spread(random() % 8 == 0 ? 34 : 14);
          std::set<TimerNode*> fired;
          for (TimerNode* n = wheel.advance(now); n != nullptr; n = n->next) fired.insert(n);
          std::set<TimerNode*> expected;
          while (!model.empty() && model.begin()->first <= now) {
            expected.insert(model.begin()->second);
            model.erase(model.begin());
          }
          ASSERT_EQ(fired, expected) << "seed " << seed << ", step " << step;
        }
      }
      ASSERT_EQ(wheel.next_due() == -1, model.empty());
      if (!model.empty()) {
        ASSERT_LE(wheel.next_due(), std::max(model.begin()->first, now));
        ASSERT_GE(wheel.next_due(), now);
      }
    }
  }
}

}  // namespace
}  // namespace leantea::base

// The timers of one loop with 15,000 connections.
#include <cstddef>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/timer_wheel.hpp"

namespace leantea::base {
namespace {

constexpr std::size_t kConnections = 15'000;

/// Timers at random times of the next minute, as of connections that came over a minute.
struct Loop {
  Loop() : wheel(0), nodes(kConnections) {
    for (TimerNode& node : nodes) wheel.set(node, wait());
  }
  Millis wait() { return 1 + static_cast<Millis>(random() % 60'000); }

  std::minstd_rand random{1};
  TimerWheel wheel;
  std::vector<TimerNode> nodes;
};

void set_and_cancel(benchmark::State& state) {
  Loop loop;
  TimerNode node;
  for (auto _ : state) {
    loop.wheel.set(node, 5000);
    loop.wheel.cancel(node);
  }
}
BENCHMARK(set_and_cancel);

void move(benchmark::State& state) {
  Loop loop;
  std::size_t i = 0;
  for (auto _ : state) {
    loop.wheel.set(loop.nodes[i], 5000 + static_cast<Millis>(i));
    i = i + 1 < kConnections ? i + 1 : 0;
  }
}
BENCHMARK(move);

/// A turn of the loop, a millisecond later: a quarter of a timer fires and is set again.
void advance_one_milli(benchmark::State& state) {
  Loop loop;
  Millis now = 0;
  for (auto _ : state) {
    loop.wheel.turn_to(++now);
    while (TimerNode* node = loop.wheel.take_due()) loop.wheel.set(*node, now + loop.wait());
  }
}
BENCHMARK(advance_one_milli);

/// Turns of a loop in which no time has passed and nothing is due: most of a busy one's.
void advance_nothing(benchmark::State& state) {
  Loop loop;
  loop.wheel.turn_to(1000);
  while (loop.wheel.take_due() != nullptr) {
  }
  for (auto _ : state) {
    loop.wheel.turn_to(1000);
    benchmark::DoNotOptimize(loop.wheel.take_due());
    benchmark::DoNotOptimize(loop.wheel.next_due());
  }
}
BENCHMARK(advance_nothing);

void advance_over_an_hour(benchmark::State& state) {
  TimerWheel wheel(0);
  TimerNode node;
  Millis now = 0;
  for (auto _ : state) {
    wheel.set(node, now + 3'700'000);
    now += 3'600'000;
    wheel.turn_to(now);
    benchmark::DoNotOptimize(wheel.take_due());
  }
}
BENCHMARK(advance_over_an_hour);

}  // namespace
}  // namespace leantea::base

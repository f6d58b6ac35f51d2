// The Date line: once per second and loop, and the question each turn whether it is a new second.
#include <cstdint>

#include <benchmark/benchmark.h>

#include "base/date_cache.hpp"

namespace leantea::base {
namespace {

void render(benchmark::State& state) {
  DateCache cache;
  std::int64_t second = 784'111'777;
  for (auto _ : state) {
    cache.update(++second);
    benchmark::DoNotOptimize(cache.line().data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(render);

void same_second(benchmark::State& state) {
  DateCache cache;
  std::int64_t second = 784'111'777;
  for (auto _ : state) {
    benchmark::DoNotOptimize(second);
    cache.update(second);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(same_second);

}  // namespace
}  // namespace leantea::base

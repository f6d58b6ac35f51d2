// Handing work back to a loop, without the other thread: what is left when nobody competes.
#include <benchmark/benchmark.h>

#include "base/mailbox.hpp"

namespace leantea::base {
namespace {

struct Letter final : MailItem {
  void deliver() override {}
};

void post_and_take(benchmark::State& state) {
  Mailbox box;
  Letter letter;
  for (auto _ : state) {
    benchmark::DoNotOptimize(box.post(letter));
    benchmark::DoNotOptimize(box.take_all());
  }
}
BENCHMARK(post_and_take);

/// What each turn of a loop pays.
void take_nothing(benchmark::State& state) {
  Mailbox box;
  for (auto _ : state) benchmark::DoNotOptimize(box.take_all());
}
BENCHMARK(take_nothing);

}  // namespace
}  // namespace leantea::base

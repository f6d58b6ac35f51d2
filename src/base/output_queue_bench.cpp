// What the output of one answer costs beyond writing its bytes.
#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "base/output_queue.hpp"

namespace leantea::base {
namespace {

constexpr std::size_t kAnswer = 120;  // a small answer with its head

/// Sends all there is, as a kernel with room in its buffer.
void send_all(BlockPool& pool, OutputQueue& queue) {
  while (!queue.empty()) {
    std::array<iovec, 16> pieces{};
    const std::size_t count = queue.gather(pieces).count;
    benchmark::DoNotOptimize(pieces);
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += pieces[i].iov_len;
    queue.consume(pool, bytes);
  }
}

/// Without the bytes themselves: what the queue adds.
void small_answer(benchmark::State& state) {
  BlockPool pool;
  OutputQueue queue;
  for (auto _ : state) {
    char* space = queue.reserve(pool, kAnswer);
    benchmark::DoNotOptimize(space);
    queue.commit(kAnswer);
    send_all(pool, queue);
  }
}
BENCHMARK(small_answer);

void pipelined_16(benchmark::State& state) {
  BlockPool pool;
  OutputQueue queue;
  for (auto _ : state) {
    for (int i = 0; i < 16; ++i) {
      char* space = queue.reserve(pool, kAnswer);
      benchmark::DoNotOptimize(space);
      queue.commit(kAnswer);
    }
    send_all(pool, queue);
  }
}
BENCHMARK(pipelined_16);

void append_copy(benchmark::State& state) {
  BlockPool pool;
  OutputQueue queue;
  const std::string bytes(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state) {
    queue.append(pool, bytes);
    send_all(pool, queue);
  }
}
BENCHMARK(append_copy)->Arg(120)->Arg(1024)->Arg(64 << 10);

/// A head in a block and content behind it: where kCopyBytes comes from.
void head_and_shared(benchmark::State& state) {
  BlockPool pool;
  OutputQueue queue;
  auto content = std::make_shared<const std::string>(static_cast<std::size_t>(state.range(0)), 'x');
  for (auto _ : state) {
    queue.reserve(pool, kAnswer);
    queue.commit(kAnswer);
    queue.append_shared(content, *content);
    send_all(pool, queue);
  }
}
BENCHMARK(head_and_shared)->Arg(16)->Arg(256)->Arg(1024)->Arg(1025);

void head_and_owned(benchmark::State& state) {
  BlockPool pool;
  OutputQueue queue;
  for (auto _ : state) {
    queue.reserve(pool, kAnswer);
    queue.commit(kAnswer);
    queue.append_owned(std::string(static_cast<std::size_t>(state.range(0)), 'x'));
    send_all(pool, queue);
  }
}
BENCHMARK(head_and_owned)->Arg(16)->Arg(256)->Arg(1024)->Arg(1025);

/// The same with the content copied into the block, whatever its size.
void head_and_copy(benchmark::State& state) {
  BlockPool pool;
  OutputQueue queue;
  for (auto _ : state) {
    queue.reserve(pool, kAnswer);
    queue.commit(kAnswer);
    queue.append(pool, std::string(static_cast<std::size_t>(state.range(0)), 'x'));
    send_all(pool, queue);
  }
}
BENCHMARK(head_and_copy)->Arg(16)->Arg(256)->Arg(1024)->Arg(2048);

}  // namespace
}  // namespace leantea::base

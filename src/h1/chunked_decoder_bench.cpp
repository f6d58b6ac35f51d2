// The chunked decoder over bodies of 64 KiB in chunks of one size. Content is shown where it came, so
// the figure to look at is the time per chunk.
#include <cstdio>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>

#include "h1/chunked_decoder.hpp"

namespace leantea::h1 {
namespace {

constexpr std::size_t kContentBytes = 64 * 1024;

std::string body_in_chunks_of(std::size_t size, std::string_view extension) {
  char digits[20];
  std::snprintf(digits, sizeof digits, "%zx", size);
  std::string body;
  for (std::size_t done = 0; done < kContentBytes; done += size)
    body.append(digits).append(extension).append("\r\n").append(size, 'x').append("\r\n");
  return body + "0\r\n\r\n";
}

void decode(benchmark::State& state, std::string_view extension) {
  const Limits limits;
  const auto chunk = static_cast<std::size_t>(state.range(0));
  const std::string body = body_in_chunks_of(chunk, extension);
  std::string trailers;
  for (auto _ : state) {
    ChunkedDecoder decoder;
    std::string_view in = body;
    DecodeStep step;
    do {
      step = decoder.next(in, limits, trailers);
      benchmark::DoNotOptimize(step);
    } while (step.kind == DecodeStep::Kind::kContent);
    if (step.kind != DecodeStep::Kind::kEnd) state.SkipWithError("not at the end");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kContentBytes / chunk));
}

void BM_DecodeChunks(benchmark::State& state) { decode(state, ""); }
void BM_DecodeChunksWithExtension(benchmark::State& state) { decode(state, ";name=\"a value\""); }

BENCHMARK(BM_DecodeChunks)->Arg(1)->Arg(16)->Arg(1024)->Arg(16 * 1024);
BENCHMARK(BM_DecodeChunksWithExtension)->Arg(16)->Arg(1024);

}  // namespace
}  // namespace leantea::h1

// What an answer costs from the Response that a handler made to bytes that are ready to be sent.
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <benchmark/benchmark.h>

#include "base/date_cache.hpp"
#include "h1/response_encoder.hpp"

namespace leantea::h1 {
namespace {

class Sink {
 public:
  Sink() { date_.update(784111777); }
  ~Sink() { out_.clear(pool_); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  AnswerContext context(Version version = Version::kHttp11) const {
    return {.version = version, .date_line = date_.line()};
  }
  void encode(Response&& response, const AnswerContext& context) {
    benchmark::DoNotOptimize(encode_response(std::move(response), context, pool_, out_));
  }
  base::BlockPool& pool() { return pool_; }
  base::OutputQueue& out() { return out_; }
  /// Sends all there is, as a kernel with room in its buffer.
  void send_all() {
    std::array<struct iovec, 16> pieces{};
    while (!out_.empty()) {
      const std::size_t count = out_.gather(pieces).count;
      benchmark::DoNotOptimize(pieces);
      std::size_t bytes = 0;
      for (std::size_t i = 0; i < count; ++i) bytes += pieces[i].iov_len;
      out_.consume(pool_, bytes);
    }
  }

 private:
  base::DateCache date_;
  base::BlockPool pool_;
  base::OutputQueue out_;
};

/// Encodes what `make` returns, time and again: its making is part of the figure.
template <class Make>
void encode_all(benchmark::State& state, const Make& make, Version version = Version::kHttp11) {
  Sink sink;
  const AnswerContext context = sink.context(version);
  for ([[maybe_unused]] const auto _ : state) {
    sink.encode(make(), context);
    sink.send_all();
  }
}

void encode_literal(benchmark::State& state) {
  encode_all(state, [] { return Response::text("OK"); });
}
BENCHMARK(encode_literal);

/// With `Connection: keep-alive`, as HTTP/1.0 needs it.
void encode_literal_http10(benchmark::State& state) {
  encode_all(state, [] { return Response::text("OK"); }, Version::kHttp10);
}
BENCHMARK(encode_literal_http10);

void encode_without_content(benchmark::State& state) {
  encode_all(state, [] { return Response{Status::kNoContent}; });
}
BENCHMARK(encode_without_content);

/// As many fields as state.range(0) says, checked as a handler's are.
void encode_fields(benchmark::State& state) {
  encode_all(state, [&] {
    Response response = Response::text("OK");
    for (std::int64_t i = 0; i < state.range(0); ++i)
      response.header("Cache-Control", "public, max-age=3600");
    return response;
  });
}
BENCHMARK(encode_fields)->Arg(1)->Arg(4)->Arg(16);

/// Content of its own, around the size above which it is sent from where it lies.
void encode_owned(benchmark::State& state) {
  encode_all(state, [&] {
    return Response::bytes(std::string(static_cast<std::size_t>(state.range(0)), 'x'));
  });
}
BENCHMARK(encode_owned)->Arg(16)->Arg(1024)->Arg(2048)->Arg(4096)->Arg(64 << 10);

void encode_shared(benchmark::State& state) {
  const auto content =
      std::make_shared<const std::string>(static_cast<std::size_t>(state.range(0)), 'x');
  encode_all(state, [&] { return Response::bytes(Content(content)); });
}
BENCHMARK(encode_shared)->Arg(16)->Arg(1024)->Arg(4096)->Arg(64 << 10);

void encode_one_chunk(benchmark::State& state) {
  Sink sink;
  const std::string content(static_cast<std::size_t>(state.range(0)), 'x');
  for ([[maybe_unused]] const auto _ : state) {
    encode_chunk(content, sink.pool(), sink.out());
    sink.send_all();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(encode_one_chunk)->Arg(16)->Arg(1024)->Arg(16 << 10);

}  // namespace
}  // namespace leantea::h1

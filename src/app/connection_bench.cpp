// What a request costs between received bytes and bytes to send: no socket, no handler of weight.
#include <benchmark/benchmark.h>

#include "support/wire.hpp"

namespace leantea {
namespace {

constexpr std::string_view kAb =
    "GET /health HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: 127.0.0.1:8080\r\n"
    "User-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n";
constexpr std::string_view kWrk = "GET /health HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
constexpr std::string_view kEcho =
    "POST /echo HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nContent-Length: 5\r\n\r\nhello";

void serve(benchmark::State& state, std::string_view request, int batch) {
  app::SocketlessServer server(test::bench_app(), {});
  [[maybe_unused]] const bool place = server.engine().take_place();
  app::Connection connection(server.engine());
  std::string bytes;
  for (int i = 0; i < batch; ++i) bytes += request;
  std::array<struct iovec, 4> pieces;
  for ([[maybe_unused]] const auto _ : state) {
    connection.receive(bytes);
    benchmark::DoNotOptimize(connection.output(pieces));
    connection.sent(connection.output_size());
  }
  state.SetItemsProcessed(state.iterations() * batch);
}

BENCHMARK_CAPTURE(serve, ab, kAb, 1);
BENCHMARK_CAPTURE(serve, wrk, kWrk, 1);
BENCHMARK_CAPTURE(serve, wrk_pipelined_16, kWrk, 16);
BENCHMARK_CAPTURE(serve, echo, kEcho, 1);

}  // namespace
}  // namespace leantea

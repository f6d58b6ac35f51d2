// What finding a route costs, with few and with many of them.
#include <string>

#include <benchmark/benchmark.h>

#include "app/route_table.hpp"

namespace leantea::app {
namespace {

std::unique_ptr<Route> route(const std::string& pattern) {
  return std::make_unique<Route>(pattern, Method::kGet, [](Request&) { return Response{}; });
}

/// A third each: literal paths, one parameter, two parameters.
std::vector<std::unique_ptr<Route>> routes(std::int64_t count) {
  std::vector<std::unique_ptr<Route>> made;
  made.push_back(route("/health"));
  for (std::int64_t i = 1; i < count; ++i) {
    static constexpr const char* kEnds[] = {"", "/{id}", "/{id}/parts/{part}"};
    made.push_back(route("/resource" + std::to_string(i / 3) + kEnds[i % 3]));
  }
  return made;
}

void look_up(benchmark::State& state, std::string_view path) {
  const RouteTable table(routes(state.range(0)));
  PathParams params;
  for (auto _ : state) {
    benchmark::DoNotOptimize(path);
    benchmark::DoNotOptimize(table.match(Method::kGet, path, params));
  }
}

void literal(benchmark::State& state) { look_up(state, "/health"); }
void one_parameter(benchmark::State& state) { look_up(state, "/resource1/4711"); }
void two_parameters(benchmark::State& state) { look_up(state, "/resource0/4711/parts/12"); }
void nothing(benchmark::State& state) { look_up(state, "/resource1/4711/wholes/12"); }

BENCHMARK(literal)->Arg(5)->Arg(100)->Arg(1000);
BENCHMARK(one_parameter)->Arg(5)->Arg(100)->Arg(1000);
BENCHMARK(two_parameters)->Arg(5)->Arg(100)->Arg(1000);
BENCHMARK(nothing)->Arg(5)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace leantea::app

// The searches of scan.hpp over the values and names of HTTP heads, beside memchr for the same bytes.
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/scan.hpp"
#include "base/scan_impl.hpp"

namespace leantea::base {
namespace {

/// A field value of `size` bytes with its line end, in the middle of a head.
std::string value_of(std::size_t size) {
  return std::string(size, 'v') + "\r\nAccept: */*\r\n\r\n";
}

template <typename Search>
void run(benchmark::State& state, const std::string& bytes, Search search) {
  const char* p = bytes.data();
  const char* end = p + bytes.size();
  for (auto _ : state) {
    benchmark::DoNotOptimize(p);
    benchmark::DoNotOptimize(search(p, end));
  }
}

void field_value(benchmark::State& state) {
  run(state, value_of(static_cast<std::size_t>(state.range(0))),
      [](const char* p, const char* end) { return find_control(p, end); });
}

void field_value_memchr(benchmark::State& state) {
  run(state, value_of(static_cast<std::size_t>(state.range(0))),
      [](const char* p, const char* end) {
        return std::memchr(p, '\r', static_cast<std::size_t>(end - p));
      });
}

void field_name(benchmark::State& state) {
  run(state, std::string(static_cast<std::size_t>(state.range(0)), 'n') + ": value\r\n\r\n",
      [](const char* p, const char* end) { return skip_token(p, end); });
}

/// The lines of what a browser sends, one after the other: lengths as they come.
const std::string kBrowserHead =
    "GET /health HTTP/1.1\r\n"
    "Host: localhost:8080\r\n"
    "Connection: keep-alive\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/126.0.0.0 Safari/537.36\r\n"
    "Accept: "
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"
    "Referer: http://localhost:8080/index.html\r\n"
    "Cookie: session=6f1c2a9e4b7d4c0f8a3e5d7b9c1f2a4e; theme=dark; consent=1\r\n\r\n";

template <typename Search>
void lines(benchmark::State& state, Search search) {
  const char* begin = kBrowserHead.data();
  const char* end = begin + kBrowserHead.size();
  for (auto _ : state) {
    benchmark::DoNotOptimize(begin);
    for (const char* p = begin; p != end; p += 2) {
      p = search(p, end);
      benchmark::DoNotOptimize(p);
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(kBrowserHead.size()));
}

void lines_of_a_browser(benchmark::State& state) {
  lines(state, [](const char* p, const char* end) { return find_control(p, end); });
}

void lines_of_a_browser_memchr(benchmark::State& state) {
  lines(state, [](const char* p, const char* end) {
    return static_cast<const char*>(std::memchr(p, '\r', static_cast<std::size_t>(end - p)));
  });
}

BENCHMARK(lines_of_a_browser);
BENCHMARK(lines_of_a_browser_memchr);
BENCHMARK(field_value)->ArgsProduct({{3, 15, 24, 40, 60, 120, 1024, 4096}});
BENCHMARK(field_value_memchr)->ArgsProduct({{3, 15, 24, 40, 60, 120, 1024, 4096}});
BENCHMARK(field_name)->ArgsProduct({{4, 10, 15, 20, 40}});

/// Each implementation by itself, for the choice between them.
[[maybe_unused]] const bool kRegistered = [] {
  for (const auto& implementation : scan::implementations()) {
    const std::string name(implementation.name);
    for (const std::size_t size : {15uz, 40uz, 120uz, 4096uz}) {
      benchmark::RegisterBenchmark(
          ("find_control/" + name + "/" + std::to_string(size)).c_str(),
          [search = implementation.find_control, size](benchmark::State& state) {
            run(state, value_of(size), search);
          });
    }
    for (const std::size_t size : {10uz, 20uz, 40uz}) {
      benchmark::RegisterBenchmark(
          ("skip_token/" + name + "/" + std::to_string(size)).c_str(),
          [search = implementation.skip_token, size](benchmark::State& state) {
            run(state, std::string(size, 'n') + ": value\r\n\r\n", search);
          });
    }
  }
  return true;
}();

}  // namespace
}  // namespace leantea::base

// The head parser over six shapes of requests, beside libhttp-parser (which was Node's, where it is
// installed) and beside memchr over the same bytes, which is about what reading them costs at all.
#include <cstring>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>
#ifdef LEANTEA_HAS_HTTP_PARSER
#include <http_parser.h>
#endif

#include "h1/head_parser.hpp"

namespace leantea::h1 {
namespace {

std::string many_headers() {
  std::string head = "GET /health HTTP/1.1\r\nHost: localhost\r\n";
  for (int i = 0; i < 60; ++i)
    head += "X-Header-" + std::to_string(i) + ": value " + std::to_string(i * i) + "\r\n";
  return head + "\r\n";
}

struct Shape {
  const char* name;
  std::string bytes;
};

const Shape kShapes[] = {
    {"minimal", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
    {"wrk", "GET /health HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n"},
    {"ab",
     "GET /health HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: 127.0.0.1:8080\r\n"
     "User-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n"},
    {"browser",
     "GET /health HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nConnection: keep-alive\r\n"
     "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
     "Chrome/126.0.0.0 Safari/537.36\r\n"
     "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,"
     "image/apng,*/*;q=0.8\r\n"
     "Accept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"
     "Cookie: session=0123456789abcdef0123456789abcdef; theme=dark; consent=yes\r\n"
     "Upgrade-Insecure-Requests: 1\r\nCache-Control: max-age=0\r\n"
     "Referer: http://127.0.0.1:8080/start\r\n\r\n"},
    {"many_headers", many_headers()},
    {"long_cookie",
     "GET /health HTTP/1.1\r\nHost: localhost\r\nCookie: " + std::string(4000, 'c') + "\r\n\r\n"},
};

void BM_ParseHead(benchmark::State& state, const std::string& bytes) {
  const Limits limits;
  http::FieldPlace fields[Limits::kMaxHeaderCount];
  http::RequestHead head;
  head.fields = fields;
  head.field_capacity = Limits::kMaxHeaderCount;
  std::string_view in = bytes;
  for (auto _ : state) {
    benchmark::DoNotOptimize(in);
    const HeadResult result = parse_head(in, limits, head);
    if (result.kind != HeadResult::Kind::kComplete) state.SkipWithError("not complete");
    benchmark::DoNotOptimize(head);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

#ifdef LEANTEA_HAS_HTTP_PARSER
/// With callbacks that do as little as a server may: note where each part begins.
void BM_LibHttpParser(benchmark::State& state, const std::string& bytes) {
  struct Places {
    const char* at[2 * Limits::kMaxHeaderCount + 2];
    std::size_t count;
  } places;
  http_parser_settings settings;
  http_parser_settings_init(&settings);
  const http_data_cb note = [](http_parser* parser, const char* at, std::size_t) {
    auto* const p = static_cast<Places*>(parser->data);
    p->at[p->count++] = at;
    return 0;
  };
  settings.on_url = note;
  settings.on_header_field = note;
  settings.on_header_value = note;
  for (auto _ : state) {
    http_parser parser;
    http_parser_init(&parser, HTTP_REQUEST);
    parser.data = &places;
    places.count = 0;
    const std::size_t taken = http_parser_execute(&parser, &settings, bytes.data(), bytes.size());
    if (taken != bytes.size()) state.SkipWithError("not complete");
    benchmark::DoNotOptimize(places);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
#endif

/// Finds every line end.
void BM_Memchr(benchmark::State& state, const std::string& bytes) {
  for (auto _ : state) {
    const char* p = bytes.data();
    const char* const end = p + bytes.size();
    benchmark::DoNotOptimize(p);
    while (p != end) {
      p = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p))) + 1;
      benchmark::DoNotOptimize(p);
    }
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

const int kRegistered = [] {
  using Run = void (*)(benchmark::State&, const std::string&);
  const auto add = [](const char* parser, const Shape& shape, Run run) {
    benchmark::RegisterBenchmark((std::string(parser) + "/" + shape.name).c_str(), run,
                                 shape.bytes);
  };
  for (const Shape& shape : kShapes) {
    add("ParseHead", shape, BM_ParseHead);
#ifdef LEANTEA_HAS_HTTP_PARSER
    add("LibHttpParser", shape, BM_LibHttpParser);
#endif
    add("Memchr", shape, BM_Memchr);
  }
  return 0;
}();

}  // namespace
}  // namespace leantea::h1

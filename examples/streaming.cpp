// Bodies in parts, in both directions. An upload of any size passes through one buffer: the socket is
// not read while the handler is busy. A stream of server-sent events waits between two of them without
// holding a thread, and ends when the client goes away.
//
//   head -c 3G /dev/zero | curl -T - http://127.0.0.1:8080/upload
//   curl -N http://127.0.0.1:8080/ticks
#include <chrono>
#include <cstdint>
#include <string>

#include <leantea/leantea.hpp>

using namespace leantea;

namespace {

Task<Response> upload(Request& r) {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  while (const auto chunk = co_await r.next_chunk()) {
    bytes += chunk->size();
    for (const char c : *chunk) lines += c == '\n' ? 1 : 0;
  }
  co_return Response::text(std::to_string(bytes) + " bytes, " + std::to_string(lines) + " lines\n");
}

Task<void> write_ticks(Writer& out) {
  for (int tick = 1; tick <= 60; ++tick) {
    co_await out.write("id: " + std::to_string(tick) + "\ndata: tick\n\n");
    // False: the request's stop token has fired. At a shutdown the stream ends where it is whole.
    if (!co_await sleep(std::chrono::seconds(1))) break;
  }
}

Response ticks(const Request&) {
  return Response::stream("text/event-stream", write_ticks).header("Cache-Control", "no-store");
}

}  // namespace

int main() {
  Router app;
  app.put("/upload", upload).limits({.body_bytes = std::uint64_t{16} << 30});
  app.get("/ticks", ticks);
  return Server{std::move(app), {.port = 8080}}.run();
}

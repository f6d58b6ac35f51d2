// The application that simulations and fuzzers drive: every kind of handler, under small bounds and timeouts.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include <leantea/leantea.hpp>

namespace leantea::test {

/// /id/{id}, /echo, /count, /sleep/{ms}/{id}, /stream/{bytes}, /early.
inline Router faults_app() {
  Router app;
  app.get("/id/{id}", [](const Request& r) { return Response::text(r.param("id")); });
  app.post("/echo", [](Request& r) { return Response::bytes(r.take_body()); });
  app.post("/count", [](Request& r) -> Task<Response> {
    std::size_t n = 0;
    while (const auto chunk = co_await r.next_chunk()) {
      n += chunk->size();
      if (n % 3 == 0) co_await sleep(std::chrono::milliseconds(5));
    }
    co_return Response::text(std::to_string(n));
  });
  app.get("/sleep/{ms}/{id}", [](Request& r) -> Task<Response> {
    co_await sleep(std::chrono::milliseconds(std::stoi(std::string(r.param("ms")))));
    co_return Response::text(std::string(r.param("id")));
  });
  app.get("/stream/{bytes}", [](const Request& r) {
    const auto bytes = std::stoull(std::string(r.param("bytes")));
    return Response::stream("text/plain", [bytes](Writer& out) -> Task<> {
      const std::string piece(777, 'x');
      for (std::size_t left = bytes; left > 0;) {
        const std::size_t size = std::min(left, piece.size());
        co_await out.write(std::string_view(piece).substr(0, size));
        left -= size;
        if (left % 5 == 0) co_await sleep(std::chrono::milliseconds(3));
      }
    });
  });
  app.post("/early", [](Request&) -> Task<Response> { co_return Response::text("early"); });
  return app;
}

/// So small that schedules meet them.
inline Limits faults_limits() {
  Limits limits;
  using namespace std::chrono_literals;
  limits.output_bytes = 4096;
  limits.body_buffer_bytes = 1024;
  limits.body_bytes = 16 * 1024;
  limits.unread_body_bytes = 512;
  limits.requests_in_progress = 4;
  limits.head_timeout = 2s;
  limits.body_timeout = 2s;
  limits.idle_timeout = 3s;
  limits.write_timeout = 2s;
  limits.handler_timeout = 5s;
  limits.linger_timeout = 1s;
  return limits;
}

}  // namespace leantea::test

// Slow work does not belong on an event loop: offload() runs it on a worker thread, and the handler goes
// on where it was when the result is there. Meanwhile the loop serves others.
//
//   curl 'http://127.0.0.1:8080/primes?below=20000000' & curl http://127.0.0.1:8080/quick
#include <charconv>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <leantea/leantea.hpp>

using namespace leantea;

namespace {

constexpr std::size_t kMost = 100'000'000;

/// A plain function that knows nothing of HTTP. It gives up when nobody waits for its result any more.
std::optional<std::size_t> count_primes(std::size_t below, const std::stop_token& stop) {
  std::vector<bool> composite(below);
  std::size_t count = 0;
  for (std::size_t n = 2; n < below; ++n) {
    if (composite[n]) continue;
    if (stop.stop_requested()) return std::nullopt;
    ++count;
    for (std::size_t multiple = 2 * n; multiple < below; multiple += n) composite[multiple] = true;
  }
  return count;
}

std::optional<std::size_t> number(const std::string& text) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end || value > kMost) return std::nullopt;
  return value;
}

Task<Response> primes(Request& r) {
  const auto below = number(r.query_param("below").value_or("1000000"));
  if (!below)
    co_return Response::text("below: a number up to 100000000, please\n")
        .set_status(Status::kBadRequest);
  // The stop token fires when the client disconnects or the handler's time is up.
  const auto work = [below, stop = r.stop_token()] { return count_primes(*below, stop); };
  const auto count = co_await offload(work);
  if (!count) co_return Response{Status::kServiceUnavailable};
  co_return Response::text(std::to_string(*count) + " primes\n");
}

}  // namespace

int main() {
  Router app;
  app.get("/primes", primes).limits({.handler_timeout = std::chrono::seconds(10)});
  app.get("/quick", [](const Request&) { return Response::text("still here\n"); });
  return Server{std::move(app), {.port = 8080, .workers = 2}}.run();
}

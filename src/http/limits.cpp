#include <limits>

#include <leantea/limits.hpp>

#include "http/request_head.hpp"

namespace leantea {
namespace {

/// Received bytes that a connection may hold beyond what its requests are charged for: one receive
/// buffer of the loop, whose bytes came before the connection could say that it wants no more.
constexpr std::uint64_t kReadAheadBytes = 64 * 1024;

/// A sum that stays at its largest value instead of wrapping: limits may be set to "no bound".
class Sum {
 public:
  Sum& add(std::uint64_t bytes) noexcept {
    if (__builtin_add_overflow(total_, bytes, &total_)) total_ = kMax;
    return *this;
  }
  Sum& times(std::uint64_t factor) noexcept {
    if (__builtin_mul_overflow(total_, factor, &total_)) total_ = kMax;
    return *this;
  }
  std::uint64_t total() const noexcept { return total_; }

 private:
  static constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t total_ = 0;
};

std::uint64_t head_bytes(const Limits& l) noexcept {
  return 2ull * l.leading_empty_lines + http::kRequestLineOverhead + l.target_bytes +
         l.header_bytes + 2;
}

}  // namespace

std::size_t Limits::connection_bound() const noexcept {
  // What one request may hold: a copy of its head while its handler waits, where the fields are,
  // its content collected or waiting to be streamed with the part that its handler was shown (each may pass
  // its bound by one receive), and its trailers. A trailer line gains at most the space behind its colon (a
  // fourth of the shortest line); strings grow by doubling, content not beyond its bound.
  const std::uint64_t trailers = 2 * (trailer_bytes + trailer_bytes / 4ull);
  const Sum request = Sum{}
                          .add(head_bytes(*this))
                          .add(std::uint64_t{header_count} * sizeof(http::FieldPlace))
                          .add(body_bytes)
                          .add(body_buffer_bytes)
                          .add(kReadAheadBytes)
                          .add(trailers);
  const Sum connection = Sum{}
                             .add(request.total())
                             .times(requests_in_progress)
                             .add(body_bytes)  // while the content that comes grows: what it was
                             .add(head_bytes(*this))  // the head that is still incomplete
                             .add(kReadAheadBytes)
                             .add(output_bytes);
  constexpr std::uint64_t kMost = std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(connection.total() < kMost ? connection.total() : kMost);
}

std::expected<void, std::string> Limits::check() const {
  const auto wrong = [](std::string what) { return std::unexpected(std::move(what)); };
  const auto number = [](auto value) { return std::to_string(value); };

  if (target_bytes == 0)
    return wrong("Limits::target_bytes is 0: no request could be read; use 8192");
  if (header_bytes == 0)
    return wrong("Limits::header_bytes is 0: HTTP/1.1 needs a Host field; use 16384");
  if (header_count == 0 || header_count > kMaxHeaderCount)
    return wrong("Limits::header_count is " + number(header_count) + ": use 1 to " +
                 number(kMaxHeaderCount));
  const std::uint64_t head =
      http::kRequestLineOverhead + std::uint64_t{target_bytes} + header_bytes + 2;
  if (head > kMaxHeadBytes)
    return wrong("Limits::target_bytes and Limits::header_bytes make heads of " + number(head) +
                 " bytes: make them smaller, so that the sum is at most " + number(kMaxHeadBytes));
  if (requests_in_progress == 0)
    return wrong("Limits::requests_in_progress is 0: no request could be answered; use 1 or more");
  if (output_bytes == 0)
    return wrong("Limits::output_bytes is 0: no answer could be sent; use 1 or more");
  if (body_buffer_bytes == 0)
    return wrong("Limits::body_buffer_bytes is 0: no content could be streamed; use 1 or more");
  if (connections == 0)
    return wrong("Limits::connections is 0: nobody could connect; use 1 or more");

  const struct {
    const char* name;
    milliseconds value;
  } timeouts[] = {
      {"head_timeout", head_timeout},       {"body_timeout", body_timeout},
      {"idle_timeout", idle_timeout},       {"write_timeout", write_timeout},
      {"handler_timeout", handler_timeout}, {"shutdown_timeout", shutdown_timeout},
      {"linger_timeout", linger_timeout},
  };
  for (const auto& t : timeouts)
    if (t.value < milliseconds::zero())
      return wrong("Limits::" + std::string(t.name) + " is " + number(t.value.count()) +
                   " ms: a timeout is not negative; use 0 to turn it off");
  return {};
}

}  // namespace leantea

// Limits: every bound and every timeout of a server, in one struct, with its default and with what
// happens when it is met. A plain value, copied into the server at start; routes may override the
// members of RouteLimits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

namespace leantea {

struct Limits {
  using milliseconds = std::chrono::milliseconds;

  // ---- the head of a request ----
  /// Bytes of a request target. More: 414.
  std::uint32_t target_bytes = 8192;
  /// Bytes of the field lines after the request line, with their line ends. More: 431.
  std::uint32_t header_bytes = 16384;
  /// Field lines in one header section, at most kMaxHeaderCount. More: 431.
  std::uint16_t header_count = 100;
  /// Empty lines before a request line (RFC 9112 §2.2 asks for at least one). More: 400.
  std::uint16_t leading_empty_lines = 8;

  // ---- the body of a request ----
  /// Bytes of content of one request, whether collected or streamed. More: 413.
  std::uint64_t body_bytes = 1024 * 1024;
  /// Bytes of chunk extensions in one chunk (RFC 9112 §7.1.1). More: 413.
  std::uint32_t chunk_extension_bytes = 1024;
  /// Bytes of a trailer section. More: 431.
  std::uint32_t trailer_bytes = 4096;
  /// Streamed content that waits for its handler; above it the socket is not read.
  std::uint32_t body_buffer_bytes = 64 * 1024;
  /// Content that no handler asked for is read and dropped up to here, so that the connection can
  /// go on. More: the connection closes after the answer.
  std::uint32_t unread_body_bytes = 256 * 1024;

  // ---- a connection ----
  /// Requests on one connection, 0 for no bound. The last one is answered with `Connection: close`.
  std::uint32_t requests_per_connection = 0;
  /// Requests of one connection whose answers are not complete. Above it the connection's input waits.
  std::uint16_t requests_in_progress = 16;
  /// Bytes of answers that wait for the client to read. Above it the connection's input waits and
  /// streamed answers suspend.
  std::uint32_t output_bytes = 256 * 1024;

  // ---- the server ----
  /// Connections at once, over all loops. Above it new ones wait in the listen queue, or are
  /// answered 503 when `refuse_above_connections` is set.
  std::uint32_t connections = 100'000;
  bool refuse_above_connections = false;

  // ---- timeouts; zero turns one off. Counted in whole milliseconds: one may pass up to one early ----
  /// From the first byte of a head to its last (and from accept to the first byte). Then: 408, close.
  milliseconds head_timeout{10'000};
  /// Between two reads of a body that is asked for. Then: 408, close.
  milliseconds body_timeout{20'000};
  /// Least average rate of a body after the first `body_timeout`, in bytes per second; 0 for none.
  /// Slower: 408, close.
  std::uint32_t body_min_rate = 240;
  /// Between two requests. Then: closed without an answer.
  milliseconds idle_timeout{60'000};
  /// While output waits: between two reads of the client. Then: reset.
  milliseconds write_timeout{20'000};
  /// From a handler's start to the end of its answer's head, for handlers that wait. Then its stop
  /// token fires, it is destroyed, and the answer is 503.
  milliseconds handler_timeout{60'000};
  /// From a drain's start to the end of the last request. Then stop tokens fire and the rest is cut.
  milliseconds shutdown_timeout{10'000};
  /// After the last answer of a connection that the client may still write to: how long its bytes
  /// are read and dropped so that the answer is not lost to a reset (RFC 9112 §9.6).
  milliseconds linger_timeout{2'000};

  static constexpr std::uint16_t kMaxHeaderCount = 256;
  static constexpr std::uint32_t kMaxHeadBytes = 65'000;  // offsets within a head are 16 bits wide

  /// What one connection may hold in memory under any peer, in bytes: the sum of the bounds above.
  std::size_t connection_bound() const noexcept;

  /// Nothing, or what is wrong and what to change.
  std::expected<void, std::string> check() const;
};

/// What one route may set apart from the server's Limits.
struct RouteLimits {
  std::optional<std::uint64_t> body_bytes{};
  std::optional<Limits::milliseconds> body_timeout{};
  std::optional<Limits::milliseconds> handler_timeout{};
};

}  // namespace leantea

// Request: what a handler is given.
//
// Lives until its handler has returned (for a coroutine or a streamed answer: until it is done). All
// views it gives live as long, but for chunks (until the next next_chunk()). Loop's thread only, but
// for the stop token.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <leantea/http.hpp>
#include <leantea/response.hpp>
#include <leantea/task.hpp>

namespace leantea {

namespace http {
struct RequestHead;
}
namespace app {
class Connection;
class Exchange;
}  // namespace app

/// One field line of a request.
struct Field {
  std::string_view name;
  std::string_view value;
};

namespace detail {

struct RequestAccess;

/// A view that is not initialised until it is assigned: a request has room for eight parameters, and usually
/// none. (Setting them all to nothing was 50 instructions of each request.)
class LateView {
 public:
  LateView() noexcept = default;
  LateView(std::string_view view) noexcept  // NOLINT(google-explicit-constructor)
      : data_(view.data()), size_(view.size()) {}
  operator std::string_view() const noexcept {  // NOLINT(google-explicit-constructor)
    return {data_, size_};
  }

 private:
  const char* data_;
  std::size_t size_;
};

/// One name and value of a path parameter.
struct PathParam {
  LateView name;
  LateView value;
};

/// The parameters of one match; not initialised beyond `count`.
struct PathParams {
  static constexpr std::size_t kMax = 8;
  std::uint8_t count = 0;
  std::array<PathParam, kMax> items;
};

struct ChunkAwaiter {
  app::Exchange* exchange;
  bool await_ready();
  void await_suspend(std::coroutine_handle<> waiting);
  std::optional<std::string_view> await_resume();
};

struct BodyAwaiter {
  app::Exchange* exchange;
  bool await_ready();
  void await_suspend(std::coroutine_handle<> waiting);
  std::string_view await_resume() noexcept;
};

}  // namespace detail

class Request {
 public:
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  Method method() const noexcept { return method_; }
  Version version() const noexcept { return version_; }
  /// The request target as it came.
  std::string_view target() const noexcept;
  /// The path: dot segments removed, percent-decoded once ("%2F" stays as it is). Starts with '/'.
  std::string_view path() const noexcept { return path_; }
  /// What came after '?', as it came; empty when there was none.
  std::string_view query() const noexcept { return query_; }
  /// The decoded value of the first query parameter with this name ('+' is a space).
  std::optional<std::string> query_param(std::string_view name) const;
  /// Host and port that the request is for: the target's authority, else Host.
  std::string_view authority() const noexcept;

  /// The value of the first field with this name, compared without case, or nothing.
  std::optional<std::string_view> header(std::string_view name) const noexcept;
  std::size_t header_count() const noexcept;
  /// REQUIRES: index < header_count().
  Field header_at(std::size_t index) const noexcept;

  /// What `{name}` in the route's pattern stood for, percent-decoded; empty when the pattern has no such
  /// name.
  std::string_view param(std::string_view name) const noexcept;

  /// The whole content. Plain handlers are called when it is there. In a coroutine: what
  /// read_body() read, else empty.
  std::string_view body() const noexcept { return body_; }
  /// The whole content, moved out when it was collected and borrowed when it was not (see
  /// Content::borrowed): what to answer with when the answer is the content. body() is empty after it.
  Content take_body();

  /// `co_await r.next_chunk()`: the next part of the content as it came, or nothing at its end. Valid
  /// until the next call. The socket is not read while nobody asks and Limits::body_buffer_bytes wait.
  /// Does not return when the content breaks off: the handler is destroyed where it waits.
  [[nodiscard]] detail::ChunkAwaiter next_chunk() noexcept { return {exchange_}; }
  /// `co_await r.read_body()`: the whole content (up to Limits::body_bytes), or what next_chunk() has left
  /// of it; body() from then on, and nothing is left for next_chunk().
  [[nodiscard]] detail::BodyAwaiter read_body() noexcept { return {exchange_}; }
  /// The value of a trailer field, once the content has ended.
  std::optional<std::string_view> trailer(std::string_view name) const noexcept;

  /// Fires when the client disconnects, the handler's deadline passes, or a drain's deadline passes. For
  /// handlers that wait, and for functions they offload; a plain handler's never fires.
  std::stop_token stop_token() const;

  /// Sends 103 Early Hints (RFC 8297) with these fields ahead of the answer. Nothing is sent to
  /// HTTP/1.0. Coroutine handlers only.
  std::expected<void, FieldError> early_hints(std::initializer_list<Field> fields);

  /// Where the client is, e.g. "127.0.0.1:50312"; empty when unknown. Asks the kernel each time.
  std::string peer() const;

 private:
  friend struct detail::RequestAccess;
  friend class app::Connection;
  friend class app::Exchange;
  Request() noexcept = default;
  Request(const http::RequestHead& head, Method method, Version version,
          const app::Connection& connection) noexcept
      : head_(&head), connection_(&connection), method_(method), version_(version) {}

  const http::RequestHead* head_ = nullptr;
  app::Exchange* exchange_ = nullptr;
  const app::Connection* connection_ = nullptr;
  std::string_view path_;
  std::string_view query_;
  std::string_view authority_;
  std::string_view body_;
  Method method_ = Method::kGet;
  Version version_ = Version::kHttp11;
  detail::PathParams params_;
};

}  // namespace leantea

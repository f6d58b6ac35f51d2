// Response: what a handler returns. Writer: how a streamed answer is written.
//
// A Response is a value: made, changed and moved on any one thread. It holds its small parts (header
// fields, a small body) inside itself, so that a usual answer needs no heap. The server writes Date,
// Content-Length, Transfer-Encoding, Connection and Trailer itself; they cannot be set.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <leantea/http.hpp>
#include <leantea/task.hpp>

namespace leantea {

class Request;
class Writer;

/// A string literal (or another constant expression): its bytes live for ever and are never copied
/// before they are sent. A char array that is not constant does not compile here: wrap it in a
/// std::string_view to have it copied.
class StaticText {
 public:
  template <std::size_t kSize>
  consteval StaticText(const char (&literal)[kSize])  // NOLINT(google-explicit-constructor)
      : text_(literal, kSize - 1) {}
  constexpr std::string_view view() const noexcept { return text_; }

 private:
  std::string_view text_;
};

/// The bytes of a body and how they are held.
class Content {
 public:
  /// Taken over, not copied.
  Content(std::string bytes) noexcept  // NOLINT(google-explicit-constructor)
      : kind_(Kind::kOwned), owned_(std::move(bytes)) {}
  /// Copied.
  Content(std::string_view bytes) noexcept  // NOLINT(google-explicit-constructor)
      : kind_(Kind::kCopy), view_(bytes) {}
  /// Copied, up to its NUL.
  template <class T>
    requires std::is_same_v<std::remove_cvref_t<T>, const char*> ||
             std::is_same_v<std::remove_cvref_t<T>, char*>
  Content(T&& text) noexcept  // NOLINT(google-explicit-constructor)
      : Content(std::string_view(text)) {}
  Content(StaticText text) noexcept  // NOLINT(google-explicit-constructor)
      : kind_(Kind::kStatic), view_(text.view()) {}
  /// Shared between answers, not copied.
  Content(std::shared_ptr<const std::string> bytes) noexcept  // NOLINT(google-explicit-constructor)
      : kind_(Kind::kShared), view_(*bytes), owner_(std::move(bytes)) {}

  /// Neither copied nor owned. The bytes must stay as they are until the handler that returns them has
  /// returned (the server copies or sends them then): for views into the request and for scratch
  /// buffers of the thread, in plain handlers only.
  static Content borrowed(std::string_view bytes) noexcept {
    Content content{bytes};
    content.kind_ = Kind::kBorrowed;
    return content;
  }

  std::string_view view() const noexcept { return kind_ == Kind::kOwned ? owned_ : view_; }

 private:
  friend class Response;
  enum class Kind : std::uint8_t { kStatic, kBorrowed, kCopy, kOwned, kShared };
  Kind kind_;
  std::string_view view_;
  std::string owned_;
  std::shared_ptr<const void> owner_;
};

/// Why a field cannot be set.
enum class FieldError : std::uint8_t {
  kBadName,   ///< not a token (RFC 9110 §5.6.2)
  kBadValue,  ///< CR, LF, NUL or another control character (RFC 9110 §5.5)
  kReserved,  ///< one that the server writes itself
};
std::string_view to_string(FieldError error) noexcept;

namespace detail {
struct ResponseAccess;

/// A function that writes a streamed body.
class Producer {
 public:
  virtual ~Producer() = default;
  virtual Task<void> start(Writer& out) = 0;
};

template <class F>
class ProducerOf final : public Producer {
 public:
  explicit ProducerOf(F function) : function_(std::move(function)) {}
  Task<void> start(Writer& out) override { return function_(out); }

 private:
  F function_;
};
}  // namespace detail

class [[nodiscard]] Response {
 public:
  /// 200 without content.
  Response() noexcept : Response(Status::kOk) {}
  /// `status` without content. REQUIRES: 200 to 599.
  explicit Response(Status status) noexcept;
  Response(Response&& other) noexcept;
  Response& operator=(Response&& other) noexcept;
  /// Inline for most answers, which own nothing outside of themselves.
  [[gnu::always_inline]] ~Response() {
    if (owned_ || rare_ != nullptr) [[unlikely]]
      let_go();
  }

  /// 200, text/plain; charset=utf-8.
  static Response text(StaticText text) noexcept;
  static Response text(Content text);
  /// 200, text/html; charset=utf-8.
  static Response html(StaticText text) noexcept;
  static Response html(Content text);
  /// 200, application/json. The argument is JSON text; serialise with the library of your choice.
  static Response json(StaticText text) noexcept;
  static Response json(Content text);
  /// 200, application/octet-stream.
  static Response bytes(StaticText text) noexcept;
  static Response bytes(Content bytes);
  /// 200 with a content type of your own. A type with a control character makes the answer a 500.
  static Response content(std::string_view content_type, StaticText text);
  static Response content(std::string_view content_type, Content bytes);
  /// 3xx with Location.
  static Response redirect(std::string_view location, Status status = Status::kFound);
  /// 200 whose body `producer` writes: a callable `Task<void>(Writer&)`, kept until it is done. Sent
  /// with the chunked coding, or with `length` when it is known; to HTTP/1.0 delimited by closing.
  template <class F>
  static Response stream(std::string_view content_type, F producer,
                         std::optional<std::uint64_t> length = std::nullopt) {
    return make_stream(content_type, std::make_unique<detail::ProducerOf<F>>(std::move(producer)),
                       length);
  }

  Status status() const noexcept { return status_; }
  Response& set_status(Status status) & noexcept;
  Response&& set_status(Status status) && noexcept { return std::move(set_status(status)); }

  /// Adds a field line. Several with one name are sent in this order.
  std::expected<void, FieldError> add_header(std::string_view name, std::string_view value);
  /// The same for chaining: `return Response::text("…").header("Cache-Control", "no-store");`. An error
  /// makes the whole answer a 500 with a line in the log.
  Response& header(std::string_view name, std::string_view value) &;
  Response&& header(std::string_view name, std::string_view value) && {
    return std::move(header(name, value));
  }
  /// The value of the first field with this name (compared without case), Content-Type included.
  std::optional<std::string_view> find_header(std::string_view name) const noexcept;

  /// The connection ends after this answer.
  Response& close_connection() & noexcept;
  Response&& close_connection() && noexcept { return std::move(close_connection()); }

  /// The body, unless it is streamed.
  std::string_view body() const noexcept;
  bool streamed() const noexcept { return is(kStreamed); }

 private:
  friend struct detail::ResponseAccess;

  enum class Body : std::uint8_t { kStatic, kBorrowed, kInline, kOwned, kShared };
  /// What few answers are: one that is nothing of this is sent the short way.
  enum Trait : std::uint8_t {
    kCloses = 1,      ///< the connection ends after it
    kBroken = 2,      ///< an error was ignored: it is sent as a 500
    kLongFields = 4,  ///< its field lines are in Rare::fields
    kStreamed = 8,    ///< its body is written by Rare::producer
  };
  struct Rare {  // what few answers have
    std::shared_ptr<const void> owner;
    std::unique_ptr<detail::Producer> producer;
    std::optional<std::uint64_t> length;
    std::string fields;  ///< all field lines when they are too long for inline_: kLongFields
  };
  static constexpr std::size_t kInlineBytes = 384;

  Response(std::string_view content_type_line, Content&& content);
  Response(std::string_view content_type_line, StaticText text) noexcept;
  static Response make_stream(std::string_view content_type,
                              std::unique_ptr<detail::Producer> producer,
                              std::optional<std::uint64_t> length);
  void set_content(Content&& content);
  void append_field(std::string_view name, std::string_view value);
  std::string_view fields() const noexcept;
  bool is(Trait trait) const noexcept { return (traits_ & trait) != 0; }
  void set(Trait trait) noexcept { traits_ |= trait; }
  void let_go() noexcept;
  Rare& rare();

  Status status_;
  Body body_kind_ = Body::kStatic;
  std::uint8_t traits_ = 0;                ///< of Trait
  std::uint16_t fields_size_ = 0;          ///< bytes at the front of inline_
  std::uint16_t inline_body_size_ = 0;     ///< bytes at the end of inline_
  std::string_view type_line_;             ///< "Content-Type: …\r\n" with static storage, or empty
  std::string_view view_;                  ///< kStatic, kBorrowed, kShared
  std::optional<std::string> owned_;       ///< kOwned; else there is none to make and to end
  Rare* rare_ = nullptr;                   ///< let_go() ends it: that is no code in place
  std::array<char, kInlineBytes> inline_;  // not initialised: see fields_size_, inline_body_size_
};

namespace detail {

struct WriteAwaiter {
  app::Exchange& exchange;
  std::string_view bytes;
  bool await_ready();
  void await_suspend(std::coroutine_handle<> waiting) noexcept;
  void await_resume() const noexcept {}
};

}  // namespace detail

/// Writes the body of a streamed answer. Lives as long as its producer's task; loop's thread only.
class Writer {
 public:
  explicit Writer(app::Exchange& exchange) noexcept : exchange_(exchange) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// `co_await out.write(bytes)`: sends the bytes, as one chunk where the coding is chunked. Waits while
  /// more than Limits::output_bytes wait for the client; returns when all are on their way (copied).
  /// `bytes` must stay until then. With a known length, more than it makes the connection end.
  [[nodiscard]] detail::WriteAwaiter write(std::string_view bytes) noexcept {
    return {exchange_, bytes};
  }
  /// A trailer field, sent after the body when the coding is chunked and the request said
  /// `TE: trailers`; else dropped (RFC 9110 §6.5.1).
  std::expected<void, FieldError> trailer(std::string_view name, std::string_view value);
  /// The request that is answered; valid as long as the Writer.
  const Request& request() const noexcept;

 private:
  app::Exchange& exchange_;
};

}  // namespace leantea

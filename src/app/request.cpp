// Request, Writer and the awaiters: what a handler calls, on the way to its exchange.
#include <leantea/request.hpp>

#include "app/connection.hpp"
#include "app/exchange.hpp"
#include "base/assert.hpp"
#include "http/ascii.hpp"
#include "http/request_head.hpp"

namespace leantea {

std::string_view Request::target() const noexcept {
  return head_ != nullptr && head_->bytes != nullptr ? head_->target() : std::string_view{};
}

std::string_view Request::authority() const noexcept { return authority_; }

std::optional<std::string_view> Request::header(std::string_view name) const noexcept {
  for (const http::FieldPlace& field : head_->field_places())
    if (http::equal_ignoring_case(head_->name(field), name)) return head_->value(field);
  return std::nullopt;
}

std::size_t Request::header_count() const noexcept { return head_->field_count; }

Field Request::header_at(std::size_t index) const noexcept {
  LEANTEA_ASSERT(index < header_count());
  const http::FieldPlace& field = head_->fields[index];
  return {head_->name(field), head_->value(field)};
}

std::string_view Request::param(std::string_view name) const noexcept {
  for (std::size_t i = 0; i < params_.count; ++i)
    if (params_.items[i].name == name) return params_.items[i].value;
  return {};
}

namespace {

int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = http::to_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/// application/x-www-form-urlencoded: '+' is a space; a '%' without two hex digits stands for itself.
std::string decode_form(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out.push_back(' ');
    } else if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
               hex_value(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

}  // namespace

std::optional<std::string> Request::query_param(std::string_view name) const {
  std::string_view rest = query_;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    const std::size_t equals = pair.find('=');
    if (decode_form(pair.substr(0, equals)) != name) continue;
    return equals == std::string_view::npos ? std::string{} : decode_form(pair.substr(equals + 1));
  }
  return std::nullopt;
}

Content Request::take_body() {
  if (exchange_ != nullptr) return exchange_->take_body();
  return Content::borrowed(std::exchange(body_, {}));
}

std::optional<std::string_view> Request::trailer(std::string_view name) const noexcept {
  if (exchange_ == nullptr || !exchange_->content_complete()) return std::nullopt;
  std::string_view lines = exchange_->trailers();
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find("\r\n"));
    lines.remove_prefix(std::min(line.size() + 2, lines.size()));
    const std::size_t colon = line.find(':');
    if (http::equal_ignoring_case(line.substr(0, colon), name))
      return http::trim_ows(line.substr(colon + 1));
  }
  return std::nullopt;
}

std::stop_token Request::stop_token() const {
  return exchange_ != nullptr ? exchange_->stop_token() : std::stop_token{};
}

std::expected<void, FieldError> Request::early_hints(std::initializer_list<Field> fields) {
  LEANTEA_ASSERT(exchange_ != nullptr);  // REQUIRES: a coroutine handler
  return exchange_->early_hints(fields);
}

std::string Request::peer() const {
  if (connection_ == nullptr) return {};
  return connection_->peer();
}

std::expected<void, FieldError> Writer::trailer(std::string_view name, std::string_view value) {
  return exchange_.add_trailer(name, value);
}

const Request& Writer::request() const noexcept { return exchange_.request(); }

namespace detail {

// A plain handler has no exchange and all of its content: nothing to wait for.
bool ChunkAwaiter::await_ready() { return exchange == nullptr || exchange->chunk_ready(); }
void ChunkAwaiter::await_suspend(std::coroutine_handle<> waiting) {
  exchange->wait_for_chunk(waiting);
}
std::optional<std::string_view> ChunkAwaiter::await_resume() {
  return exchange == nullptr ? std::nullopt : exchange->take_chunk();
}

bool BodyAwaiter::await_ready() { return exchange == nullptr || exchange->body_ready(); }
void BodyAwaiter::await_suspend(std::coroutine_handle<> waiting) {
  exchange->wait_for_body(waiting);
}
std::string_view BodyAwaiter::await_resume() noexcept {
  return exchange == nullptr ? std::string_view{} : exchange->take_read_body();
}

bool WriteAwaiter::await_ready() { return exchange.try_write(bytes); }
void WriteAwaiter::await_suspend(std::coroutine_handle<> waiting) noexcept {
  exchange.wait_for_output(waiting);
}

void wait_for_sleep(app::Exchange& exchange, std::coroutine_handle<> waiting,
                    std::chrono::nanoseconds duration) {
  exchange.wait_for_sleep(waiting, duration);
}
bool slept_in_full(const app::Exchange& exchange) noexcept { return exchange.slept_in_full(); }
void wait_for_offload(app::Exchange& exchange, std::coroutine_handle<> waiting, OffloadJob& job) {
  exchange.wait_for_worker(waiting, job);
}

}  // namespace detail

}  // namespace leantea

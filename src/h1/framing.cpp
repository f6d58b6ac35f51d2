#include "h1/framing.hpp"

#include <optional>
#include <string_view>

#include "http/ascii.hpp"
#include "http/byte_set.hpp"

namespace leantea::h1 {
namespace {

using http::FieldName;

constexpr auto kInvalid = std::unexpected(Status::kBadRequest);

/// Content-Length = 1*DIGIT (RFC 9110 §8.6), or nothing when it is not that or is above 64 bits.
std::optional<std::uint64_t> content_length(std::string_view value) noexcept {
  if (value.empty()) return std::nullopt;
  std::uint64_t length = 0;
  for (const char c : value) {
    if (c < '0' || c > '9') return std::nullopt;
    if (__builtin_mul_overflow(length, std::uint64_t{10}, &length) ||
        __builtin_add_overflow(length, static_cast<std::uint64_t>(c - '0'), &length))
      return std::nullopt;
  }
  return length;
}

/// True when the text is this word, compared without case.
template <http::detail::LowerName kWord>
bool is_word(std::string_view text) noexcept {
  return text.size() == kWord.kSize && http::detail::is_name<kWord>(text.data());
}

/// RFC 9112 §6.1: the list of codings, over all lines of the field, must be exactly "chunked".
[[gnu::noinline, gnu::cold]] std::expected<Framing, Status> transfer_coding_framing(
    const http::RequestHead& head) noexcept {
  bool unknown = false;  // a coding that this server does not have
  bool chunked = false;  // the last coding so far is chunked
  for (const http::FieldPlace& field : head.field_places()) {
    if (field.name != FieldName::kTransferEncoding) continue;
    std::string_view list = head.value(field);
    if (list.empty() || list.back() == ',') return kInvalid;  // an empty last member
    while (!list.empty()) {
      const std::string_view coding = http::next_member(list);
      // Nothing may follow chunked, itself included (§6.1, §6.3 item 4). What is no token is not
      // guessed at, nor are parameters, which no coding that exists has use for.
      if (chunked || !http::is_token(coding)) return kInvalid;
      if (is_word<"chunked">(coding))
        chunked = true;
      else
        unknown = true;
    }
  }
  if (!chunked) return kInvalid;  // §6.3 item 4: the length cannot be known
  if (unknown) return std::unexpected(Status::kNotImplemented);  // §6.1
  return Framing{.kind = Framing::Kind::kChunked};
}

/// What the options in all Connection fields say: "close" wins (RFC 9112 §9.3).
[[gnu::noinline, gnu::cold]] std::optional<bool> keep_alive_option(
    const http::RequestHead& head) noexcept {
  std::optional<bool> keep_alive;
  for (const http::FieldPlace& field : head.field_places()) {
    if (field.name != FieldName::kConnection) continue;
    for (std::string_view list = head.value(field); !list.empty();) {
      const std::string_view option = http::next_member(list);
      if (is_word<"close">(option)) return false;
      if (is_word<"keep-alive">(option)) keep_alive = true;
    }
  }
  return keep_alive;
}

}  // namespace

std::expected<Framing, Status> decide_framing(const http::RequestHead& head) noexcept {
  const bool has_length = head.present.has(FieldName::kContentLength);
  if (head.present.has(FieldName::kTransferEncoding)) [[unlikely]] {
    // RFC 9112 §6.1: both fields are how requests are smuggled; under HTTP/1.0 the field means that
    // somebody on the way did not understand it.
    if (has_length || head.version == Version::kHttp10) return kInvalid;
    return transfer_coding_framing(head);
  }
  if (!has_length) [[likely]]
    return Framing{};
  // RFC 9112 §6.3 item 5. A repeated field is refused even where the values are equal, which it may.
  if (head.repeated.has(FieldName::kContentLength)) [[unlikely]]
    return kInvalid;
  const std::optional<std::uint64_t> length =
      content_length(head.first_value(FieldName::kContentLength));
  if (!length) [[unlikely]]
    return kInvalid;
  if (*length == 0) return Framing{};
  return Framing{.kind = Framing::Kind::kLength, .length = *length};
}

bool wants_keep_alive(const http::RequestHead& head) noexcept {
  const bool is_rule = head.version == Version::kHttp11;
  if (!head.present.has(FieldName::kConnection)) return is_rule;
  if (!head.repeated.has(FieldName::kConnection)) {  // one option alone is what nearly all say
    const std::string_view options = head.first_value(FieldName::kConnection);
    if (is_word<"keep-alive">(options)) return true;
    if (is_word<"close">(options)) return false;
  }
  return keep_alive_option(head).value_or(is_rule);
}

}  // namespace leantea::h1

#include <cstring>

#include <leantea/response.hpp>

#include "base/assert.hpp"
#include "http/ascii.hpp"
#include "http/field_check.hpp"
#include "http/response_access.hpp"

namespace leantea {

namespace {

// Padded to one size, so that an encoder copies them with moves of a fixed size: see
// ResponseAccess::kTypeLineRoom.
struct TypeLine {
  std::array<char, detail::ResponseAccess::kTypeLineRoom> bytes{};
  std::size_t size = 0;

  consteval explicit TypeLine(std::string_view line) : size(line.size()) {
    for (std::size_t i = 0; i < size; ++i) bytes[i] = line[i];
  }
  constexpr std::string_view view() const noexcept { return {bytes.data(), size}; }
};
constexpr TypeLine kTextLine{"Content-Type: text/plain; charset=utf-8\r\n"};
constexpr TypeLine kHtmlLine{"Content-Type: text/html; charset=utf-8\r\n"};
constexpr TypeLine kJsonLine{"Content-Type: application/json\r\n"};
constexpr TypeLine kBytesLine{"Content-Type: application/octet-stream\r\n"};
constexpr std::string_view kTypeName = "Content-Type";

}  // namespace

std::string_view to_string(FieldError error) noexcept {
  switch (error) {
    case FieldError::kBadName:
      return "the field name is not a token";
    case FieldError::kBadValue:
      return "the field value has a control character";
    case FieldError::kReserved:
      return "the field is written by the server itself";
  }
  return "";
}

Response::Response(Status status) noexcept : status_(status) {
  LEANTEA_ASSERT(code(status) >= 200 && code(status) <= 599);
}

Response::Response(std::string_view content_type_line, Content&& content)
    : status_(Status::kOk), type_line_(content_type_line) {
  set_content(std::move(content));
}

Response::Response(std::string_view content_type_line, StaticText text) noexcept
    : status_(Status::kOk), type_line_(content_type_line), view_(text.view()) {}

Response::Response(Response&& other) noexcept
    : status_(other.status_),
      body_kind_(std::exchange(other.body_kind_, Body::kStatic)),
      traits_(std::exchange(other.traits_, std::uint8_t{0})),
      fields_size_(other.fields_size_),
      inline_body_size_(other.inline_body_size_),
      type_line_(other.type_line_),
      view_(std::exchange(other.view_, {})),
      owned_(std::move(other.owned_)),
      rare_(std::exchange(other.rare_, nullptr)) {
  std::memcpy(inline_.data(), other.inline_.data(), fields_size_);
  const std::size_t body_at = kInlineBytes - inline_body_size_;
  std::memcpy(inline_.data() + body_at, other.inline_.data() + body_at, inline_body_size_);
}

Response& Response::operator=(Response&& other) noexcept {
  if (this != &other) {
    this->~Response();
    new (this) Response(std::move(other));
  }
  return *this;
}

Response Response::text(StaticText text) noexcept { return {kTextLine.view(), text}; }
Response Response::text(Content text) { return {kTextLine.view(), std::move(text)}; }
Response Response::html(StaticText text) noexcept { return {kHtmlLine.view(), text}; }
Response Response::html(Content text) { return {kHtmlLine.view(), std::move(text)}; }
Response Response::json(StaticText text) noexcept { return {kJsonLine.view(), text}; }
Response Response::json(Content text) { return {kJsonLine.view(), std::move(text)}; }
Response Response::bytes(StaticText text) noexcept { return {kBytesLine.view(), text}; }
Response Response::bytes(Content bytes) { return {kBytesLine.view(), std::move(bytes)}; }

Response Response::content(std::string_view content_type, StaticText text) {
  return content(content_type, Content{text});
}

Response Response::content(std::string_view content_type, Content bytes) {
  Response response{{}, std::move(bytes)};
  response.header(kTypeName, content_type);
  return response;
}

Response Response::redirect(std::string_view location, Status status) {
  LEANTEA_ASSERT(code(status) >= 300 && code(status) <= 399);
  Response response{status};
  response.header("Location", location);
  return response;
}

Response Response::make_stream(std::string_view content_type,
                               std::unique_ptr<detail::Producer> producer,
                               std::optional<std::uint64_t> length) {
  Response response;
  response.set(kStreamed);
  response.rare().producer = std::move(producer);
  response.rare().length = length;
  if (!content_type.empty()) response.header(kTypeName, content_type);
  return response;
}

void Response::set_content(Content&& content) {
  switch (content.kind_) {
    case Content::Kind::kStatic:
      view_ = content.view_;
      return;
    case Content::Kind::kBorrowed:
      body_kind_ = Body::kBorrowed;
      view_ = content.view_;
      return;
    case Content::Kind::kCopy:
      // A small body is held in place, so that a usual answer needs no heap. The fields grow from the
      // front of the same space; see append_field.
      if (content.view_.size() <= kInlineBytes - fields_size_) {
        body_kind_ = Body::kInline;
        inline_body_size_ = static_cast<std::uint16_t>(content.view_.size());
        content.view_.copy(inline_.data() + kInlineBytes - inline_body_size_, inline_body_size_);
        return;
      }
      body_kind_ = Body::kOwned;
      owned_ = std::string(content.view_);
      return;
    case Content::Kind::kOwned:
      body_kind_ = Body::kOwned;
      owned_ = std::move(content.owned_);
      return;
    case Content::Kind::kShared:
      body_kind_ = Body::kShared;
      view_ = content.view_;
      rare().owner = std::move(content.owner_);
      return;
  }
}

Response& Response::set_status(Status status) & noexcept {
  LEANTEA_ASSERT(code(status) >= 200 && code(status) <= 599);
  status_ = status;
  return *this;
}

Response& Response::close_connection() & noexcept {
  set(kCloses);
  return *this;
}

std::expected<void, FieldError> Response::add_header(std::string_view name,
                                                     std::string_view value) {
  value = http::trim_ows(value);
  if (auto checked = http::check_field(name, value); !checked) return checked;
  if (http::equal_ignoring_case(name, kTypeName)) type_line_ = {};
  append_field(name, value);
  return {};
}

Response& Response::header(std::string_view name, std::string_view value) & {
  if (!add_header(name, value)) set(kBroken);
  return *this;
}

void Response::append_field(std::string_view name, std::string_view value) {
  const std::size_t bytes = name.size() + value.size() + 4;
  if (!is(kLongFields) && fields_size_ + bytes <= kInlineBytes - inline_body_size_) {
    char* p = inline_.data() + fields_size_;
    // Unlike memcpy, copy() takes a view that points nowhere, too.
    const auto put = [&p](std::string_view part) { p += part.copy(p, part.size()); };
    put(name);
    put(": ");
    put(value);
    put("\r\n");
    fields_size_ = static_cast<std::uint16_t>(fields_size_ + bytes);
    return;
  }
  if (!is(kLongFields)) {
    rare().fields.assign(inline_.data(), fields_size_);
    set(kLongFields);
  }
  rare().fields.append(name).append(": ").append(value).append("\r\n");
}

/// Ends what is not inside the object.
void Response::let_go() noexcept {
  owned_.reset();
  delete std::exchange(rare_, nullptr);
}

Response::Rare& Response::rare() {
  if (rare_ == nullptr) rare_ = new Rare;
  return *rare_;
}

std::string_view Response::fields() const noexcept {
  return is(kLongFields) ? std::string_view{rare_->fields}
                         : std::string_view{inline_.data(), fields_size_};
}

std::optional<std::string_view> Response::find_header(std::string_view name) const noexcept {
  const auto find_in = [&](std::string_view lines) -> std::optional<std::string_view> {
    while (!lines.empty()) {
      const std::size_t end = lines.find("\r\n");
      const std::string_view line = lines.substr(0, end);
      const std::size_t colon = line.find(':');
      if (http::equal_ignoring_case(line.substr(0, colon), name)) return line.substr(colon + 2);
      lines.remove_prefix(end + 2);
    }
    return std::nullopt;
  };
  if (auto found = find_in(type_line_)) return found;
  return find_in(fields());
}

std::string_view Response::body() const noexcept {
  switch (body_kind_) {
    case Body::kInline:
      return {inline_.data() + kInlineBytes - inline_body_size_, inline_body_size_};
    case Body::kOwned:
      return *owned_;
    case Body::kStatic:
    case Body::kBorrowed:
    case Body::kShared:
      return view_;
  }
  return {};
}

}  // namespace leantea

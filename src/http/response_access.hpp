// ResponseAccess: how src/ looks into a Response. For encoders and exchanges; no logic of its own.
#pragma once

#include <leantea/response.hpp>

namespace leantea::detail {

struct ResponseAccess {
  using Body = Response::Body;
  static Body body_kind(const Response& r) noexcept { return r.body_kind_; }
  static bool closes(const Response& r) noexcept { return r.is(Response::kCloses); }
  static bool broken(const Response& r) noexcept { return r.is(Response::kBroken); }
  /// What type_line() shows is followed by readable bytes up to this size, unless it is empty.
  static constexpr std::size_t kTypeLineRoom = 48;
  static std::string_view type_line(const Response& r) noexcept { return r.type_line_; }
  static std::string_view fields(const Response& r) noexcept {
    if (r.is(Response::kLongFields)) [[unlikely]]
      return r.fields();
    return {r.inline_.data(), r.fields_size_};
  }
  /// Nothing is unusual about it but, perhaps, its status and the size of its body.
  static bool plain(const Response& r) noexcept { return r.traits_ == 0; }
  /// As Response::body(), with the short way for a body that lies elsewhere.
  static std::string_view body(const Response& r) noexcept {
    if (r.body_kind_ == Body::kStatic || r.body_kind_ == Body::kBorrowed) return r.view_;
    return r.body();
  }
  /// Makes the answer independent of what its handler lent (see Content::borrowed).
  static void keep(Response& r) {
    if (r.body_kind_ != Body::kBorrowed) return;
    r.owned_ = std::string(r.view_);
    r.body_kind_ = Body::kOwned;
  }
  static std::string take_owned(Response& r) noexcept { return std::move(*r.owned_); }
  static std::shared_ptr<const void> take_owner(Response& r) noexcept {
    return std::move(r.rare_->owner);
  }
  static std::unique_ptr<Producer> take_producer(Response& r) noexcept {
    return std::move(r.rare_->producer);
  }
  static std::optional<std::uint64_t> stream_length(const Response& r) noexcept {
    return r.rare_->length;
  }
};

}  // namespace leantea::detail

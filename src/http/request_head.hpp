// RequestHead: one request line and its header section, as places inside the bytes they came in.
//
// It owns nothing. `bytes` points at the first byte of the request line; everything else is an
// offset from there, so a head whose bytes were copied elsewhere is moved by setting `bytes`.
// `fields` points at storage of `field_capacity` entries that its owner provides. Valid as long as
// both of these are.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <leantea/http.hpp>

#include "http/field_name.hpp"

namespace leantea::http {

/// The most bytes of a request line beside its target: the longest method token that is read on
/// with, two spaces, the version, and the line end.
inline constexpr std::uint32_t kRequestLineOverhead = 64;

/// One field line: its name and its value without the white space around it.
struct FieldPlace {
  std::uint16_t name_at;
  std::uint16_t name_size;
  std::uint16_t value_at;
  std::uint16_t value_size;
  FieldName name;
};

struct RequestHead {
  const char* bytes = nullptr;
  FieldPlace* fields = nullptr;
  std::uint16_t field_capacity = 0;
  std::uint16_t field_count = 0;
  std::uint16_t size = 0;  ///< bytes of the head, the empty line at its end included
  std::uint16_t target_at = 0;
  std::uint16_t target_size = 0;
  Method method = Method::kGet;
  Version version = Version::kHttp11;
  /// The target is known to be a path and nothing else, of kPlainPathBytes: it needs no closer look.
  bool plain_path = false;
  FieldNameSet present;   ///< the names that came at least once
  FieldNameSet repeated;  ///< the names that came more than once
  /// Of each name in `present`: where in `fields` its first one is.
  std::array<std::uint8_t, kFieldNameCount> first{};

  std::string_view target() const noexcept { return {bytes + target_at, target_size}; }
  std::string_view name(const FieldPlace& f) const noexcept {
    return {bytes + f.name_at, f.name_size};
  }
  std::string_view value(const FieldPlace& f) const noexcept {
    return {bytes + f.value_at, f.value_size};
  }
  std::span<const FieldPlace> field_places() const noexcept { return {fields, field_count}; }

  /// The value of the first field with this name, or nothing.
  std::optional<std::string_view> find(FieldName name) const noexcept {
    if (name == FieldName::kOther || !present.has(name)) return std::nullopt;
    return first_value(name);
  }
  /// The same. REQUIRES: present.has(name), and it is not kOther.
  std::string_view first_value(FieldName name) const noexcept {
    return value(fields[first[static_cast<std::size_t>(name)]]);
  }
};

}  // namespace leantea::http

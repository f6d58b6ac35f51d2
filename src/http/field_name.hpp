// FieldName: the header field names the server itself acts on, so that the head parser can note
// them in passing and nobody compares strings again.
//
// Values only; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace leantea::http {

/// kOther for every name the server does not act on.
enum class FieldName : std::uint8_t {
  kOther,
  kHost,
  kContentLength,
  kTransferEncoding,
  kConnection,
  kKeepAlive,
  kExpect,
  kUpgrade,
  kTrailer,
  kTe,
  kContentType,
};

inline constexpr unsigned kFieldNameCount = 11;

/// The field with this name, compared without case (RFC 9110 §5.1).
FieldName field_name_from(std::string_view name) noexcept;

/// A set of field names.
class FieldNameSet {
 public:
  constexpr void add(FieldName name) noexcept { bits_ |= 1u << static_cast<unsigned>(name); }
  constexpr bool has(FieldName name) const noexcept {
    return (bits_ >> static_cast<unsigned>(name)) & 1u;
  }
  constexpr void clear() noexcept { bits_ = 0; }

 private:
  std::uint32_t bits_ = 0;
};

/// True when `name` may not stand in a trailer section (RFC 9110 §6.5.1): framing, routing,
/// authentication, request modifiers, response control, content description.
bool forbidden_in_trailers(std::string_view name) noexcept;

}  // namespace leantea::http

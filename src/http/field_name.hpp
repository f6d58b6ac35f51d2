// FieldName: the header field names the server itself acts on, so that the head parser can note
// them in passing and nobody compares strings again.
//
// Values only; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

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

/// The field with this name, compared without case (RFC 9110 §5.1). Inline, because the head parser
/// asks it for every field line.
inline FieldName field_name_from(std::string_view name) noexcept;

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

// ---- Implementation ----

namespace detail {

/// True when `name` is `kName` without regard to case. Two (three above 16 bytes) overlapping words
/// are compared instead of bytes. `kName` is in lower case.
template <std::size_t N>
bool is_name(const char* name, const char (&lower)[N]) noexcept {
  constexpr std::size_t kSize = N - 1;
  using Word = std::conditional_t<(kSize >= 8), std::uint64_t,
                                  std::conditional_t<(kSize >= 4), std::uint32_t, std::uint16_t>>;
  static_assert(kSize >= sizeof(Word) && kSize <= 3 * sizeof(Word));
  const auto differs = [&](std::size_t at) {
    Word got, want, fold = 0;
    char bits[sizeof(Word)];
    std::memcpy(&got, name + at, sizeof got);
    std::memcpy(&want, lower + at, sizeof want);
    // 0x20 is the bit between upper and lower case, for letters only: a '-' stays what it is.
    for (std::size_t i = 0; i < sizeof bits; ++i)
      bits[i] = lower[at + i] >= 'a' && lower[at + i] <= 'z' ? 0x20 : 0;
    std::memcpy(&fold, bits, sizeof fold);
    return (got | fold) ^ want;
  };
  auto difference = differs(0);
  if constexpr (kSize > 2 * sizeof(Word)) difference |= differs(sizeof(Word));
  if constexpr (kSize > sizeof(Word)) difference |= differs(kSize - sizeof(Word));
  return difference == 0;
}

}  // namespace detail

inline FieldName field_name_from(std::string_view name) noexcept {
  // The size tells nearly all of them apart.
  const char* p = name.data();
  switch (name.size()) {
    case 2:
      return detail::is_name(p, "te") ? FieldName::kTe : FieldName::kOther;
    case 4:
      return detail::is_name(p, "host") ? FieldName::kHost : FieldName::kOther;
    case 6:
      return detail::is_name(p, "expect") ? FieldName::kExpect : FieldName::kOther;
    case 7:
      if (detail::is_name(p, "upgrade")) return FieldName::kUpgrade;
      return detail::is_name(p, "trailer") ? FieldName::kTrailer : FieldName::kOther;
    case 10:
      if (detail::is_name(p, "connection")) return FieldName::kConnection;
      return detail::is_name(p, "keep-alive") ? FieldName::kKeepAlive : FieldName::kOther;
    case 12:
      return detail::is_name(p, "content-type") ? FieldName::kContentType : FieldName::kOther;
    case 14:
      return detail::is_name(p, "content-length") ? FieldName::kContentLength : FieldName::kOther;
    case 17:
      return detail::is_name(p, "transfer-encoding") ? FieldName::kTransferEncoding
                                                     : FieldName::kOther;
    default:
      return FieldName::kOther;
  }
}

}  // namespace leantea::http

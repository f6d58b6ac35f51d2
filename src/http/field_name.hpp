// FieldName: the header field names the server itself acts on, so that the head parser can note
// them in passing and nobody compares strings again.
//
// Values only; any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/load_word.hpp"

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

/// A field name in lower case, as a template argument.
template <std::size_t N>
struct LowerName {
  static constexpr std::size_t kSize = N - 1;

  consteval LowerName(const char (&lower)[N]) {  // NOLINT(google-explicit-constructor)
    std::copy_n(lower, kSize, text.begin());
  }

  /// 0x20, the bit between upper and lower case, for letters only: a '-' stays what it is.
  consteval std::array<char, kSize> case_bits() const {
    std::array<char, kSize> bits{};
    for (std::size_t i = 0; i < kSize; ++i) bits[i] = text[i] >= 'a' && text[i] <= 'z' ? 0x20 : 0;
    return bits;
  }

  std::array<char, kSize> text{};
};

/// True when the bytes at `name` are kName without regard to case. Compares a few words that may
/// overlap, instead of bytes.
template <LowerName kName>
bool is_name(const char* name) noexcept {
  constexpr std::size_t kSize = kName.kSize;
  using Word = std::conditional_t<(kSize >= 8), std::uint64_t,
                                  std::conditional_t<(kSize >= 4), std::uint32_t, std::uint16_t>>;
  static_assert(kSize >= sizeof(Word) && kSize <= 3 * sizeof(Word));
  static constexpr auto kText = kName.text;
  static constexpr auto kCaseBits = kName.case_bits();
  const auto differs = [name](std::size_t at) {
    return static_cast<Word>(
        (base::load_word<Word>(name + at) | base::load_word<Word>(kCaseBits.data() + at)) ^
        base::load_word<Word>(kText.data() + at));
  };
  Word difference = differs(0);
  if constexpr (kSize > 2 * sizeof(Word)) difference |= differs(sizeof(Word));
  if constexpr (kSize > sizeof(Word)) difference |= differs(kSize - sizeof(Word));
  return difference == 0;
}

}  // namespace detail

inline FieldName field_name_from(std::string_view name) noexcept {
  // The size and the first letter leave one name to compare with, and mostly none.
  const char* const p = name.data();
  const char letter = name.empty() ? '\0' : static_cast<char>(*p | 0x20);
  const auto if_true = [](bool is, FieldName candidate) {
    return is ? candidate : FieldName::kOther;
  };
  switch (name.size()) {
    case 2:
      return if_true(detail::is_name<"te">(p), FieldName::kTe);
    case 4:
      return if_true(detail::is_name<"host">(p), FieldName::kHost);
    case 6:
      return if_true(letter == 'e' && detail::is_name<"expect">(p), FieldName::kExpect);
    case 7:
      if (letter == 'u') return if_true(detail::is_name<"upgrade">(p), FieldName::kUpgrade);
      return if_true(letter == 't' && detail::is_name<"trailer">(p), FieldName::kTrailer);
    case 10:
      if (letter == 'c') return if_true(detail::is_name<"connection">(p), FieldName::kConnection);
      return if_true(letter == 'k' && detail::is_name<"keep-alive">(p), FieldName::kKeepAlive);
    case 12:
      return if_true(detail::is_name<"content-type">(p), FieldName::kContentType);
    case 14:
      return if_true(detail::is_name<"content-length">(p), FieldName::kContentLength);
    case 17:
      return if_true(detail::is_name<"transfer-encoding">(p), FieldName::kTransferEncoding);
    default:
      return FieldName::kOther;
  }
}

}  // namespace leantea::http

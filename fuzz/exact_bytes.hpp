// ExactBytes: a copy of some bytes in an allocation of just that size, so that AddressSanitizer sees
// a parser that reads past their end.
//
// One thread; view() is valid as long as the object.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace leantea::fuzz {

class ExactBytes {
 public:
  explicit ExactBytes(std::string_view bytes)
      : bytes_(new char[bytes.size()]), view_(bytes_.get(), bytes.size()) {
    if (!bytes.empty()) std::memcpy(bytes_.get(), bytes.data(), bytes.size());
  }
  std::string_view view() const noexcept { return view_; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::string_view view_;
};

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) noexcept {
  return {reinterpret_cast<const char*>(data), size};
}

/// Takes the first byte off `input`; 0 when there is none.
inline std::uint8_t take_byte(std::string_view& input) noexcept {
  if (input.empty()) return 0;
  const auto byte = static_cast<std::uint8_t>(input.front());
  input.remove_prefix(1);
  return byte;
}

}  // namespace leantea::fuzz

// The field names that most requests have, as they are usually written, found by comparing 16 bytes
// once instead of looking for the name's end. What is not found is read like any other name.
//
// It takes 17 instructions a line in place of some 40 (callgrind; head_parser_bench shows the times).
//
// Pure functions, any thread.
#pragma once

#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "http/field_name.hpp"

namespace leantea::h1 {

struct UsualName {
  std::uint16_t size = 0;
  http::FieldName id = http::FieldName::kOther;
};

#ifdef __SSE4_1__

/// A perfect hash table. The key is the first eight bytes of a line: of names that are shorter, the
/// colon and the SP that usually stands behind it too. Host is so short that its value would be among
/// them, and is looked for apart.
class UsualNames {
 public:
  consteval UsualNames() {
    while (!place_all()) multiplier_ = multiplier_ * 6'364'136'223'846'793'005u + 1'442'695u;
  }

  /// The usual name that a line with these first 16 bytes begins with, its colon behind it; or null.
  const UsualName* find(__m128i line) const noexcept {
    const auto key = static_cast<std::uint64_t>(_mm_cvtsi128_si64(line));
    if (static_cast<std::uint32_t>(key) == kHostKey)
      return static_cast<char>(key >> 32) == ':' ? &kHost : nullptr;
    const Entry& entry = entries_[slot(key)];
    const auto block = [](const char* p) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    };
    const __m128i difference = _mm_xor_si128(line, block(entry.text));
    return _mm_testz_si128(difference, block(entry.mask)) != 0 ? &entry.name : nullptr;
  }

 private:
  static constexpr UsualName kHost{.size = 4, .id = http::FieldName::kHost};
  static constexpr std::uint32_t kHostKey = 'H' | 'o' << 8 | 's' << 16 | 't' << 24;
  static constexpr int kSlotBits = 5;

  struct alignas(64) Entry {
    char text[16] = {};
    char mask[16] = {};
    UsualName name;
  };

  constexpr std::size_t slot(std::uint64_t key) const noexcept {
    return (key * multiplier_) >> (64 - kSlotBits);
  }

  consteval bool place_all() {
    constexpr std::string_view kNames[] = {
        "Accept",     "Accept-Encoding", "Accept-Language", "Authorization",   "Cache-Control",
        "Connection", "Content-Length",  "Cookie",          "If-None-Match",   "Origin",
        "Pragma",     "Referer",         "User-Agent",      "X-Forwarded-For", "X-Real-IP"};
    // Where there is no other name there is this one: so whatever is found is true.
    for (Entry& entry : entries_) entry = entry_of("Host");
    taken_ = {};
    for (const std::string_view name : kNames)
      if (!place(name)) return false;
    return true;
  }

  consteval bool place(std::string_view name) {
    std::uint64_t key = 0;
    for (std::size_t i = 8; i-- > 0;) {
      char c = ' ';
      if (i < name.size()) c = name[i];
      if (i == name.size()) c = ':';
      key = key << 8 | static_cast<unsigned char>(c);
    }
    if (taken_ >> slot(key) & 1) return false;
    taken_ |= std::uint64_t{1} << slot(key);
    entries_[slot(key)] = entry_of(name);
    return true;
  }

  static consteval Entry entry_of(std::string_view name) {
    Entry entry;
    for (std::size_t i = 0; i <= name.size(); ++i) {  // a name of 16 bytes would not compile here
      entry.text[i] = i < name.size() ? name[i] : ':';
      entry.mask[i] = '\xff';
    }
    entry.name.size = static_cast<std::uint16_t>(name.size());
    if (name == "Host") entry.name.id = http::FieldName::kHost;
    if (name == "Connection") entry.name.id = http::FieldName::kConnection;
    if (name == "Content-Length") entry.name.id = http::FieldName::kContentLength;
    return entry;
  }

  std::array<Entry, std::size_t{1} << kSlotBits> entries_{};
  std::uint64_t multiplier_ = 0x9e37'79b9'7f4a'7c15u;
  std::uint64_t taken_ = 0;  ///< bit i: entries_[i] has a name of its own
};

inline constexpr UsualNames kUsualNames;

#endif

}  // namespace leantea::h1

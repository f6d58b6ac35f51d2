// TextTable: finds a number by a short text within a scope. For route look-ups: built once, small, and
// found with few instructions.
//
// Constant after construction: find() from any thread at once. The texts outlive the table.
//
// Open addressing with linear probing, at most half full. A text's first and last eight bytes serve
// three times: they are hashed, they are compared first, and up to 16 bytes they are the whole text, so
// that nothing else is read: 50 instructions for "/health". Only what routes say is ever put in, so no
// client can make a chain of collisions longer than the routes made it.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/assert.hpp"
#include "base/load_word.hpp"

namespace leantea::app {

class TextTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Entry {
    std::uint32_t scope;
    std::string_view text;
    std::uint32_t value;  ///< not kNone
  };

  TextTable() : TextTable(std::span<const Entry>{}) {}
  /// REQUIRES: no scope and text twice.
  explicit TextTable(std::span<const Entry> entries)
      : slots_(std::bit_ceil(2 * entries.size() + 2)),
        shift_(64 - std::countr_zero(slots_.size())) {
    for (const Entry& entry : entries) insert(entry);
  }

  /// The value of this text in this scope, or kNone.
  [[gnu::always_inline]] std::uint32_t find(std::uint32_t scope,
                                            std::string_view text) const noexcept {
    const Ends ends = ends_of(text);
    for (std::size_t i = home(scope, text, ends);; i = next(i)) {
      const Slot& slot = slots_[i];
      if (slot.ends == ends && slot.size == text.size() && slot.scope == scope &&
          slot.value != kNone && same_middle(slot, text)) [[likely]]
        return slot.value;
      if (slot.value == kNone) return kNone;
    }
  }

 private:
  /// The first and the last bytes; for up to 16 bytes, with the size, all of the text.
  struct Ends {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    bool operator==(const Ends&) const = default;
  };
  struct Slot {
    Ends ends;
    std::uint32_t size = 0;
    std::uint32_t scope = 0;
    const char* text = nullptr;
    std::uint32_t value = kNone;
  };
  static constexpr std::size_t kWord = sizeof(std::uint64_t);

  [[gnu::always_inline]] static Ends ends_of(std::string_view text) noexcept {
    const char* const p = text.data();
    const std::size_t size = text.size();
    if (size >= kWord) [[likely]]
      return {base::load_word<std::uint64_t>(p), base::load_word<std::uint64_t>(p + size - kWord)};
    if (size >= 4)
      return {base::load_word<std::uint32_t>(p), base::load_word<std::uint32_t>(p + size - 4)};
    if (size >= 2)
      return {base::load_word<std::uint16_t>(p), base::load_word<std::uint16_t>(p + size - 2)};
    if (size == 1) return {base::load_word<std::uint8_t>(p), 0};
    return {};
  }

  /// Multiplication carries low bits up, and the index is taken from the top. The constants are odd and
  /// have no pattern (the fractions of the golden ratio and of sqrt(3)).
  std::size_t home(std::uint32_t scope, std::string_view text, const Ends& ends) const noexcept {
    constexpr std::uint64_t kFirst = 0x9e37'79b9'7f4a'7c15;
    constexpr std::uint64_t kLast = 0xbb67'ae85'84ca'a73b;
    std::uint64_t hash = ends.last * kLast + (std::uint64_t{scope} << 32) + text.size();
    for (std::size_t at = kWord; at + kWord < text.size(); at += kWord) [[unlikely]]
      hash = (std::rotl(hash, 29) ^ base::load_word<std::uint64_t>(text.data() + at)) * kLast;
    hash = (std::rotl(hash, 32) ^ ends.first) * kFirst;
    return static_cast<std::size_t>(hash >> shift_);
  }

  std::size_t next(std::size_t i) const noexcept { return (i + 1) & (slots_.size() - 1); }

  static bool same_middle(const Slot& slot, std::string_view text) noexcept {
    return text.size() <= 2 * kWord ||
           std::memcmp(slot.text + kWord, text.data() + kWord, text.size() - 2 * kWord) == 0;
  }

  void insert(const Entry& entry) {
    LEANTEA_ASSERT(entry.value != kNone && entry.text.size() < UINT32_MAX);
    LEANTEA_ASSERT(find(entry.scope, entry.text) == kNone);
    const Ends ends = ends_of(entry.text);
    std::size_t i = home(entry.scope, entry.text, ends);
    while (slots_[i].value != kNone) i = next(i);
    slots_[i] = {ends, static_cast<std::uint32_t>(entry.text.size()), entry.scope,
                 entry.text.data(), entry.value};
  }

  std::vector<Slot> slots_;  ///< a power of two, at least 2
  int shift_;                ///< from a hash to an index
};

}  // namespace leantea::app

// load_word(): a word as it stands in memory, wherever it stands.
#pragma once

#include <concepts>
#include <cstring>

namespace leantea::base {

/// The sizeof(Word) bytes at `p`, which need no alignment. One instruction.
template <std::unsigned_integral Word>
[[gnu::always_inline]] inline Word load_word(const char* p) noexcept {
  Word word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

}  // namespace leantea::base

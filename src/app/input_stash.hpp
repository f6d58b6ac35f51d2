// InputStash: input that a connection could not take yet: the beginning of a head, or requests that
// wait behind the bounds on work in progress. Exists only while it holds bytes.
//
// Owned by its Connection; one thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>

namespace leantea::app {

struct InputStash {
  std::uint32_t begin = 0;  ///< first byte not taken
  std::uint32_t end = 0;
  std::uint32_t capacity = 0;
  std::uint32_t judged = 0;  ///< bytes from begin on that are known to be an incomplete head

  char* data() noexcept { return reinterpret_cast<char*>(this + 1); }
  std::string_view view() noexcept { return {data() + begin, end - begin}; }

  /// `stash` (may be null) with `bytes` behind what it holds; it may have moved.
  static InputStash* append(InputStash* stash, std::string_view bytes) {
    const std::uint32_t held = stash != nullptr ? stash->end - stash->begin : 0;
    if (stash != nullptr && stash->begin != 0) {
      std::memmove(stash->data(), stash->data() + stash->begin, held);
      stash->begin = 0;
      stash->end = held;
    }
    const auto wanted = held + static_cast<std::uint32_t>(bytes.size());
    if (stash == nullptr || wanted > stash->capacity) {
      const std::uint32_t capacity = held == 0 ? wanted : wanted + wanted / 2;
      auto* const larger = new (::operator new(sizeof(InputStash) + capacity)) InputStash{};
      larger->capacity = capacity;
      if (stash != nullptr) {
        larger->judged = stash->judged;
        std::memcpy(larger->data(), stash->data(), held);
        free(stash);
      }
      stash = larger;
    }
    std::memcpy(stash->data() + held, bytes.data(), bytes.size());
    stash->end = wanted;
    return stash;
  }

  static void free(InputStash* stash) noexcept { ::operator delete(stash); }
};

}  // namespace leantea::app

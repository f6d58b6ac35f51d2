// HeldInput: bytes that the ring received for a connection that does not want them yet. A receive that is
// told to end may have brought more by then.
//
// One thread, the loop's. Bounded by its user: nothing is added after the turn in which the receive is told
// to end, and a turn brings at most the memory of the BufferRing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/assert.hpp"

namespace leantea::net::uring {

class HeldInput {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  /// The first bytes, at most `most`. Valid until add() or drop().
  std::string_view front(std::size_t most) const noexcept {
    return std::string_view(bytes_).substr(begin_, most);
  }
  /// Drops the first bytes. REQUIRES: there are as many.
  void drop(std::size_t count) noexcept {
    LEANTEA_ASSERT(count <= bytes_.size() - begin_);
    begin_ += count;
  }
  bool empty() const noexcept { return begin_ == bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
};

}  // namespace leantea::net::uring

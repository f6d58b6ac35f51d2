// Ways to deliver bytes to a parser, for tests: directly at an unreadable page, and split.
//
// One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "support/guarded_bytes.hpp"

namespace leantea::test {

/// A place whose end is the end of the readable memory. put() shows bytes there, without a new
/// mapping for each.
class EndOfMemory {
 public:
  explicit EndOfMemory(std::size_t most) : bytes_(std::string(most, '\0')), most_(most) {}

  std::string_view put(std::string_view bytes) {
    char* const at = bytes_.data() + (most_ - bytes.size());
    std::ranges::copy(bytes, at);
    return {at, bytes.size()};
  }

 private:
  GuardedBytes bytes_;
  std::size_t most_;
};

/// The ways to cut `size` bytes in pieces that every test goes through: whole, in two at every
/// place, and one by one. A way is the list of the places where pieces end.
inline std::vector<std::vector<std::size_t>> all_deliveries(std::size_t size) {
  std::vector<std::vector<std::size_t>> ways = {{size}, {}};
  for (std::size_t end = 1; end <= size; ++end) {
    ways[1].push_back(end);
    if (end < size) ways.push_back({end, size});
  }
  return ways;
}

}  // namespace leantea::test

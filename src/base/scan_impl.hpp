// The implementations behind scan.hpp, one by one: for tests, which hold them to each other, and for
// the benchmark. Everybody else includes scan.hpp.
#pragma once

#include <span>
#include <string_view>

namespace leantea::base::scan {

using Search = const char* (*)(const char* p, const char* end) noexcept;

/// One way to compute find_control() and skip_token(), complete from the first byte on.
struct Implementation {
  std::string_view name;
  Search find_control;
  Search skip_token;
};

/// Those in this build that this processor can run. Plain C++ is the first, the one in use the last.
std::span<const Implementation> implementations() noexcept;

}  // namespace leantea::base::scan

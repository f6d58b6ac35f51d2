#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace leantea::base {

void assertion_failed(const char* what, const char* file, int line) noexcept {
  std::fprintf(stderr, "leantea: %s:%d: assertion failed: %s\n", file, line, what);
  std::abort();
}

}  // namespace leantea::base

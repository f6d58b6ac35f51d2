// The version of the library, as semver.org means it. Constants only: may be used from any thread.
#pragma once

#include <string_view>

namespace leantea {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace leantea

// LiveBytes: what this program holds on the heap and how often it asked for more, counted in operator new
// and delete. Linking live_bytes.cpp replaces these for the whole program. Zeros under ThreadSanitizer.
//
// Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leantea::test {

/// Bytes asked for and not given back.
std::int64_t live_bytes() noexcept;
/// Calls of operator new so far.
std::uint64_t allocation_count() noexcept;

}  // namespace leantea::test

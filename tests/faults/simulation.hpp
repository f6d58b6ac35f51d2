// A simulation: one schedule played against a connection, with every contract of app/connection.hpp checked
// at every step.
//
// One thread.
#pragma once

#include <cstdint>
#include <string>

namespace leantea::test {

/// Plays the schedule of `seed`; an empty text, or what went wrong.
std::string simulate(std::uint64_t seed);

}  // namespace leantea::test

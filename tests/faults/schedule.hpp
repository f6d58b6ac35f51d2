// A schedule: a whole life of a connection drawn from one seed. What requests come, how their bytes are cut,
// when the client reads, stops reading, jumps in time, half-closes or resets. The same seed gives the same
// life in every build.
//
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leantea::test {

/// splitmix64: small, and the same everywhere (the standard's distributions are not).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 to bound - 1. REQUIRES: bound > 0.
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }
  bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

/// One request, and the answer that it must have if it has one.
struct PlannedRequest {
  std::string bytes;
  int status = 200;
  std::string body;
  bool head = false;
  bool ends = false;  ///< the connection ends after its answer
};

/// A batch of requests for the routes of support/faults_app.hpp.
std::vector<PlannedRequest> plan_requests(Dice& dice);

}  // namespace leantea::test

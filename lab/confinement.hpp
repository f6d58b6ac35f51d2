// A server that gets only a part of its cores, so that it and not the load generator is what limits requests/s: with
// one core for each, wrk needs more time for a request than a good server does.
//
// Where it may, the lab puts the server's processes into a control group with a quota (cgroup v2, cpu.max). Elsewhere a
// program that never rests runs on the same cores with the same priority, and the kernel's fair scheduler gives each
// its half, or a little more to the one that sleeps in between. Either way the part that the server really had is
// measured, and stands beside the figure. Main thread only.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "process.hpp"

namespace leantea::lab {

class Confinement {
 public:
  /// Confines `processes`, which run on `cpus`, to about `share` (0 to 1) of them. Ends with this object.
  Confinement(const std::vector<pid_t>& processes, const std::vector<int>& cpus, double share);
  Confinement(const Confinement&) = delete;
  Confinement& operator=(const Confinement&) = delete;
  ~Confinement();

  /// `cpu.max`, or `rival`.
  std::string_view by() const { return group_.empty() ? "rival" : "cpu.max"; }

 private:
  std::string group_;  // the control group's folder; empty: rivals instead
  std::vector<Process> rivals_;
};

/// The part that a confined server is meant to have.
inline constexpr double kConfinedShare = 0.5;

}  // namespace leantea::lab

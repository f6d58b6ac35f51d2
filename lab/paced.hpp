// `leantea-lab paced`: latencies of servers at the same fixed rate.
//
// wrk sends the next request when the answer is there, so a server that stalls is asked less while it stalls.
// This client does not wait: requests are due at fixed times, whatever the server does, and a latency counts
// from the time its request was due. That is what a user sees who does not know of the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "histogram.hpp"
#include "targets.hpp"

namespace leantea::lab {

struct PacedOptions {
  Targets targets{.servers = {"nginx", "ours"}};
  double rate = 0;  ///< requests/s; 0: half of nginx's maximum, found by a short run of wrk
  int seconds = 5;
  int rounds = 3;
  int connections = 128;
  std::string path = "/health";
  std::string json;
};

/// What a paced run gave.
struct PacedResult {
  Histogram latency;  ///< from the time a request was due to the last byte of its answer
  Histogram
      late;  ///< how late requests left although a connection was free: the client's own fault
  std::uint64_t sent = 0;
  std::uint64_t answered = 0;
  double seconds = 0;  ///< from the first request's time to the last answer
};

/// Sends `rate` requests per second for `duration` over `connections` connections, on the calling thread.
/// `may_spin` says whether the client may burn its core while it waits for the next time (it is then precise to
/// a microsecond). Throws Failure when the server closes a connection or answers with anything but 200.
PacedResult run_paced(std::uint16_t port, const std::string& path, double rate,
                      std::chrono::nanoseconds duration, int connections, bool may_spin);

/// Measures and prints. The exit code.
int paced(const PacedOptions& options);

}  // namespace leantea::lab

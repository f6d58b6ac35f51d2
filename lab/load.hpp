// The load generators, wrk and ab: what they are told, and what they say.
//
// They are programs from Debian, not ours, so a server of ours is measured with the same client as any other.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "process.hpp"

namespace leantea::lab {

/// The client: wrk (HTTP/1.1) or ApacheBench (HTTP/1.0 with keep-alive).
enum class Tool { kWrk, kAb };

std::string_view name_of(Tool tool);

/// A request as a load sends it.
struct RequestSpec {
  std::string method = "GET";
  std::string target = "/health";
  std::vector<std::string> fields;  ///< beside Host and what frames the content: `Name: value`
  std::string content;
  bool chunked = false;  ///< the content as one chunk, not with a length

  /// The target without its query.
  std::string_view route() const;
};

/// The request's bytes for HTTP/1.1. `closing` asks the server to close the connection behind its answer.
std::string bytes_of(const RequestSpec& request, std::uint16_t port, bool closing = false);

/// One kind of load.
struct Load {
  Tool tool = Tool::kWrk;
  std::vector<RequestSpec> requests{RequestSpec{}};  ///< sent in turn
  int connections = 128;
  int pipeline = 1;                 ///< requests in one write, the next ones when all are answered
  int requests_per_connection = 0;  ///< 0: as many as there are; else in the mean over connections
  int threads = 1;                  ///< of wrk
  std::chrono::milliseconds duration{1000};  ///< wrk's length of a run
  std::uint64_t count = 0;                   ///< ab's length of a run, in requests

  /// The one request, or the first of several.
  const RequestSpec& first() const { return requests.front(); }
  /// The routes that a server needs for it, each once.
  std::vector<std::string> routes() const;
};

/// `load` in words: `wrk, 128 connections, GET /health`.
std::string describe(const Load& load);

/// What a run gave. Latencies are in microseconds; 0 stands for one that the client could not tell (wrk, when its
/// correction for late requests puts more of them below the smallest than it then counts).
struct LoadResult {
  std::uint64_t requests = 0;
  double seconds = 0;
  double requests_per_second = 0;
  double p50 = 0;
  double p99 = 0;
  std::uint64_t bad_status = 0;  ///< answers that were not 2xx
  std::uint64_t socket_errors =
      0;  ///< connect, receive, send, timeout, and answers of a wrong length
  std::chrono::nanoseconds cpu{};  ///< processor time of the client

  bool sound() const { return requests > 0 && bad_status == 0 && socket_errors == 0; }
};

/// Why a result counts for nothing, in words. REQUIRES: !result.sound()
std::string fault_of(const LoadResult& result);

/// Reads what wrk has printed with the script of load/report.lua. Throws Failure on anything else.
LoadResult parse_wrk(std::string_view output);

/// Reads what ab has printed, and the file of its option -e (percentiles with more digits).
LoadResult parse_ab(std::string_view output, std::string_view percentiles);

/// Runs load against 127.0.0.1:port on `cpus`; temporary files go to `directory`. Throws Failure when the
/// client itself fails, Interrupted on a signal.
LoadResult run_load(const Load& load, std::uint16_t port, const std::vector<int>& cpus,
                    const std::string& directory);

/// A load of wrk that can rest: several of them share a core in turns, so that what the machine does
/// in a second falls on all their servers alike. Its latencies say nothing, as requests wait while it
/// rests. Main thread only.
class RestingLoad {
 public:
  /// REQUIRES: load.tool is wrk, and `directory` is used by no other load at this time.
  RestingLoad(const Load& load, std::uint16_t port, const std::vector<int>& cpus,
              const std::string& directory);

  /// Runs for `time`, then rests. Throws Failure when wrk has ended, Interrupted on a signal.
  void take_turn(std::chrono::milliseconds time);

  /// Ends it. Throws Failure when wrk fails.
  LoadResult finish();

 private:
  Load load_;
  Command command_;
  std::optional<Process> client_;
  std::chrono::duration<double> active_{};
};

}  // namespace leantea::lab

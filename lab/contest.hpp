// Servers under one kind of load, in interleaved rounds: A B C, A B C, … What the machine does beside the measurement
// then falls on all of them alike, and ratios are taken within a round. Main thread only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load.hpp"
#include "machine.hpp"
#include "process.hpp"
#include "servers.hpp"
#include "statistics.hpp"
#include "temporary.hpp"

namespace leantea::lab {

/// One run of a load generator against one server.
struct Sample {
  LoadResult load;
  std::chrono::nanoseconds
      server_cpu{};              ///< processor time of the server in the run, its workers included
  double server_share = 0;       ///< that, as a part of the server's cores
  double load_share = 0;         ///< the load generator's processor time as a part of its core
  double server_cores_busy = 0;  ///< how busy the cores were, with all that ran there
  double load_core_busy = 0;

  double cpu_micros_per_request() const;
};

/// A server in a contest, and the load it gets (almost always the same for all).
struct Entrant {
  ServerPlan server;
  Load load;
};

struct Contest {
  std::string title;
  std::vector<Entrant> entrants;
  int rounds = 5;
};

/// What one entrant gave: a sample per round, nothing where the round is void.
struct Row {
  std::string name;
  Load load;
  std::vector<std::optional<Sample>> rounds;
  std::vector<std::string>
      voids;  ///< why runs were void, those that a repetition made good among them

  bool is_void() const;
};

struct ContestResult {
  std::string title;
  std::vector<Row> rows;

  const Row* row(std::string_view name) const;
};

/// The figures of a sample that are compared.
enum class Metric { kRequestsPerSecond, kP50, kP99, kCpuMicros };

Values values_of(const Row& row, Metric metric);

/// True when the load generator's core was full, and it was the load generator that filled it, while the
/// server's was not: the server could have done more.
bool limited_by_client(const Row& row);

/// The parts of the cores that programs beside server and load generator took, as medians over the rounds.
struct OtherWork {
  double server_cores = 0;
  double load_core = 0;
};

OtherWork other_work(const Row& row);

/// Called before each run, for a line of progress.
using Progress = std::function<void(const std::string& what)>;

/// The servers of a run: started when first asked for, stopped with this object.
class Stage {
 public:
  explicit Stage(Placement placement) : placement_(std::move(placement)) {}

  /// The server of a plan. The same plan gives the same server.
  Server& server(ServerPlan plan);

  /// Starts the servers of `contest` and checks their answers. Throws Failure.
  void prepare(const Contest& contest);

  /// Runs it. Rounds that would not end before `deadline` are left out. A run with a wrong status or a socket
  /// error is void, and repeated at most twice.
  ContestResult run(const Contest& contest, std::chrono::steady_clock::time_point deadline,
                    const Progress& progress);

  const Placement& placement() const { return placement_; }
  const std::string& directory() const { return directory_.path(); }
  CpuSource cpu_source() const { return cpu_source_; }

 private:
  Sample measure(Server& server, const Load& load);
  std::optional<Sample> attempt(Row& row, Server& server, const Load& load);
  void size_for_ab(Entrant& entrant);

  Placement placement_;
  TemporaryDirectory directory_;  // outlives the servers
  std::map<std::string, std::unique_ptr<Server>> servers_;
  CpuSource cpu_source_ = CpuSource::kProcessClock;
};

}  // namespace leantea::lab

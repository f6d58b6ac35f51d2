// Servers under one kind of load, in blocks. A block of the servers A, B and C has the runs A B C C B A, the next one
// C B A A B C, each block with servers that were started for it. What the machine does beside the measurement then
// falls on all of them alike: what drifts within a block cancels out in it, what depends on one start of a server
// (addresses, caches, a hash of the kernel's) is drawn anew in the next. Main thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "histogram.hpp"
#include "interrupt.hpp"
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
  std::chrono::nanoseconds server_cpu{};  ///< of the server in the run, its workers included
  double server_share = 0;                ///< that, as a part of the server's cores
  double load_share = 0;                  ///< the generator's processor time as a part of its core
  double server_cores_busy = 0;           ///< how busy the cores were, with all that ran there
  double load_core_busy = 0;
  double stolen = 0;                ///< the part of all these cores that the host took away
  double bytes_per_connection = 0;  ///< of idle connections and of slow readers

  double cpu_micros_per_request() const;
};

/// What one server gave in one block: two runs, or (paced, idle) one; none when it is void.
struct BlockRuns {
  std::vector<Sample> samples;
  std::optional<Sample> confined;  ///< the run in which the server had a part of its core only
};

/// A server in a contest, and the load it gets (almost always the same for all).
struct Entrant {
  ServerPlan server;
  Load load;
};

/// A server and what it gave.
struct Lane {
  std::string name;
  std::string backend;  ///< of ours; empty: its default, or another server
  Load load;
  std::vector<BlockRuns> blocks;
  std::vector<std::string>
      voids;  ///< why runs were void, those that a repetition made good among them
  std::optional<Histogram> latency;  ///< of a paced load, over all blocks

  bool is_void() const;
};

/// The figures that are compared.
enum class Metric { kRequestsPerSecond, kP50, kP99, kCpuMicros, kServerBound, kBytesPerConnection };

inline constexpr Metric kMetrics[] = {Metric::kCpuMicros,   Metric::kRequestsPerSecond,
                                      Metric::kP50,         Metric::kP99,
                                      Metric::kServerBound, Metric::kBytesPerConnection};

/// As in the JSON of a run: `cpu_us_per_request`.
std::string_view name_of(Metric metric);

bool less_is_better(Metric metric);

/// A value per block: the geometric mean of its runs. Empty where the block is void or the figure not known.
Values values_of(const Lane& lane, Metric metric);

struct ContestResult {
  std::string name;   ///< of the scenario
  std::string title;  ///< in words
  double rate = 0;    ///< of a paced load, requests/s
  std::vector<Lane> lanes;
  std::vector<std::vector<std::string>> orders;  ///< the names of each block's runs, in their order
  std::vector<std::string> disturbances;         ///< of blocks that were made again, in words
  std::vector<std::string>
      kept_disturbances;  ///< of blocks that were kept, after too many repetitions
  std::vector<std::string> remarks;

  const Lane* lane(std::string_view wanted) const;
  /// True when one of the lanes is.
  bool any_void() const;
};

/// A contest in which nothing was measured yet.
ContestResult empty_contest(std::string name, std::string title, double rate = 0);

/// The interval of a figure, and of its ratio to another lane of the same contest.
std::optional<Interval> figure_of(const Lane& lane, Metric metric, double confidence = kConfidence);
std::optional<Interval> ratio_of(const ContestResult& contest, const Lane& lane,
                                 std::string_view reference, Metric metric,
                                 double confidence = kConfidence);

/// True when the load generator's core was full, and it was the load generator that filled it, while the
/// server's was not: the server could have done more.
bool limited_by_client(const Lane& lane);

/// What ran beside server and load generator and makes a sample worthless, in words; empty when nothing did.
std::string disturbance_of(const Sample& sample);

/// Told before each run what it is.
using Progress = std::function<void(const std::string& what)>;

/// How long the turns of BlockPlan::turn are: short against what the host does, long against a scheduler's slice.
inline constexpr std::chrono::milliseconds kTurn{50};

/// The turn for a load: ab cannot rest.
std::chrono::milliseconds turn_for(const Load& load);

/// Requests on one connection for this long, so that neither side's first steps are in a figure.
inline constexpr std::chrono::milliseconds kWarmUp{200};

struct BlockPlan {
  int blocks = 10;
  /// 0: a block has two runs of each server, one after the other. Else all servers of a block run
  /// side by side, each with a load of its own, and these loads have turns of this length, A B B A A
  /// B B A …, until each was active for load.duration. What the machine does for longer than some
  /// turns then falls on all alike, so small differences show; in exchange there are no latencies.
  /// For loads of wrk only.
  std::chrono::milliseconds turn{0};
  bool server_bound = false;  ///< a confined run of each server in each block, too
  Clock::time_point deadline = Clock::time_point::max();  ///< a block has to end before it
  Clock::duration warm_up = kWarmUp;                      ///< of each server in each block
};

/// The place where servers are measured: cores and a folder for temporary files.
class Stage {
 public:
  explicit Stage(Placement placement) : placement_(std::move(placement)) {}

  /// Starts each server once and looks at its answers, before anything is measured. Takes servers of the user's that do
  /// not have the route out of `entrants`; `remarks` gets a line for each, and one when the heads of the answers differ
  /// so much that they are not the same work. Throws Failure when a server answers wrongly.
  void prepare(std::vector<Entrant>& entrants, std::vector<std::string>& remarks);

  /// Starts a server on the server's cores and checks its answers. Throws Failure.
  std::unique_ptr<Server> start(ServerPlan plan, const Load& load);

  /// Adds blocks to `result` (which is empty, or comes from an earlier call with the same entrants) until it has
  /// plan.blocks. A run with a wrong status or a socket error is void, and repeated at most twice; a block that
  /// something else disturbed is made again, at most as often as there are blocks. When this throws Interrupted,
  /// `result` has the whole blocks.
  void run(const std::vector<Entrant>& entrants, const BlockPlan& plan, ContestResult& result,
           const Progress& progress);

  /// The same with one run of each server, made by `measure` on a server that was started for it: for runs after which
  /// a server is not as it was. A run that throws Failure is void; nothing is repeated.
  using Measure = std::function<Sample(std::size_t lane, Server& server)>;
  void run_apart(const std::vector<Entrant>& entrants, const BlockPlan& plan, ContestResult& result,
                 const Progress& progress, const Measure& measure);

  /// One run.
  Sample measure(Server& server, const Load& load);

  const Placement& placement() const { return placement_; }
  const std::string& directory() const { return directory_.path(); }
  CpuSource cpu_source() const { return cpu_source_; }

 private:
  struct Block;
  struct Side;

  std::optional<Sample> attempt(Lane& lane, Server& server, const Load& load);
  Block make_block(const std::vector<Entrant>& entrants, std::size_t number, const BlockPlan& plan,
                   ContestResult& result, const Progress& progress);
  std::optional<Sample> run_confined(Lane& lane, Server& server, const Progress& progress);
  std::vector<Side> start_sides(const std::vector<Entrant>& entrants, const BlockPlan& plan,
                                const ContestResult& result);
  static void take_turns(std::vector<Side>& sides, const std::vector<std::size_t>& order,
                         std::int64_t times, std::chrono::milliseconds turn);
  std::optional<Sample> finish(Side& side, Lane& lane);
  void note_others(Block& block, double server_busy, double load_busy, double stolen,
                   double wall) const;
  Block make_turned_block(const std::vector<Entrant>& entrants, std::size_t number,
                          const BlockPlan& plan, ContestResult& result, const Progress& progress);
  static void add(Block block, ContestResult& result);

  Placement placement_;
  TemporaryDirectory directory_;
  CpuSource cpu_source_ = CpuSource::kProcessClock;
};

void warm_up(const Server& server, const Load& load, Clock::duration time = kWarmUp);

}  // namespace leantea::lab

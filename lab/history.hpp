// The recorded runs: two files in one folder, bench-data/ in this repository.
//
//   runs.jsonl       everything: one run a line, as JSON (docs/bench.md has the schema)
//   http-bench.json  its main figures in the format of github-action-benchmark's external data file
//                    (tool customBiggerIsBetter), for that action and for charts that read it
//
// runs.jsonl is written first and is the truth; http-bench.json can be made from it. Who appends holds a lock on the
// folder, writes each new text beside the old one, makes it durable and renames it over the old one. So whatever
// interrupts it (a signal, a full disk, a crash of the machine), each file is whole, before or after the run; and
// where http-bench.json then lacks a run that runs.jsonl has, the next append puts it in.
//
// Main thread only. A RecordedRun owns all it gives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "json.hpp"

namespace leantea::lab {

/// The folder where runs are recorded when no other is named, below the repository's root.
inline constexpr std::string_view kHistoryFolder = "bench-data";
inline constexpr std::string_view kRunsFile = "runs.jsonl";

/// The value of "format" in a run. A run of another format is refused with a message.
inline constexpr int kRunFormat = 1;

/// The name of our suite in http-bench.json.
inline constexpr std::string_view kSuite = "LeanTea HTTP benchmark";

struct RecordedCommit {
  std::string id;  ///< 40 hexadecimal digits; empty when the run knew of no repository
  std::string subject;
  std::string author;
  std::string date;
  std::string url;     ///< empty when not known
  bool dirty = false;  ///< the run was of more than the commit: of changes that were not committed
};

struct RecordedRun {
  std::size_t index = 0;  ///< its place in the history, from 0
  std::string date;       ///< ISO 8601, UTC
  RecordedCommit commit;
  JsonValue all;  ///< everything, as recorded
};

/// What makes the runs of two machines incomparable, even as ratios: "AMD EPYC 9B14, 2 cores".
std::string machine_of(const RecordedRun& run);

/// What else is different between two runs and may explain a change that no commit made: "nginx 1.22 → 1.24".
std::vector<std::string> differences(const RecordedRun& before, const RecordedRun& after);

/// Reads one run from its JSON text. Throws Failure when it is no JSON, or of a format that this program does not
/// know; the message names `file`, and lines as counted from `first_line`.
RecordedRun parse_run(std::string_view text, const std::string& file, int first_line = 1);

/// The runs recorded in `folder`, the oldest first; none when there is no runs.jsonl. Throws Failure, with the number
/// of the line, on a line that is no run, and on a last line that was cut off.
std::vector<RecordedRun> read_history(const std::string& folder);

/// Records a run, given as its JSON text, in both files of `folder`, which is made when it is not there. Throws Failure
/// when that is not possible; then nothing was recorded, or (the message says so) only http-bench.json lacks the run.
void append_run(const std::string& folder, std::string_view run);

/// The benches of one run: the array that github-action-benchmark takes as its output-file-path.
std::string benches_of(const RecordedRun& run);

/// Writes `text` to `path` as the two files are written: whole or not at all. Throws Failure.
void replace_file(const std::string& path, std::string_view text);

// ---- Series ---------------------------------------------------------------------------------------------------------

/// What a series is about.
enum class Figure {
  kRequestsPerSecond,  ///< of one server
  kCpuPerRequest,      ///< of one server, µs
  kRequestsParity,     ///< requests/s of the server ÷ nginx's, in %
  kCpuParity,          ///< nginx's CPU per request ÷ the server's, in %
};

/// One run's value, with its 95 % interval.
struct Point {
  std::string date;
  std::string commit_id;
  std::string subject;
  std::string url;
  double value = 0;
  double low = 0;
  double high = 0;
  std::size_t run = 0;  ///< RecordedRun::index
};

/// One figure of one server in one scenario, over the runs that have it.
struct Series {
  std::string key;    ///< unique and stable, for links and files: "cpu-parity/health/ours"
  std::string title;  ///< as in http-bench.json, for those that are there
  std::string unit;   ///< "req/s", "µs", "%"
  bool bigger_is_better = true;
  Figure figure = Figure::kRequestsPerSecond;
  std::string scenario;
  std::string server;
  std::vector<Point> points;  ///< the oldest first
};

/// All series of `runs`, those of a scenario together, in the order in which the newest runs have them. A server's
/// void results are left out.
std::vector<Series> series_of(const std::vector<RecordedRun>& runs);

}  // namespace leantea::lab

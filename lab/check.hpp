// `leantea-lab check`: is it slower than it was? Either the recorded runs are asked for a change, or two builds of the
// bench server are measured against each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench.hpp"
#include "change_points.hpp"
#include "history.hpp"

namespace leantea::lab {

/// The command's arguments.
struct CheckOptions {
  std::string history = std::string(kHistoryFolder);
  std::vector<std::string> servers = {"ours"};  ///< whose changes matter
  std::size_t recent = 10;    ///< a change that is older, in runs, is history and no alarm
  std::size_t runs = 200;     ///< how far back is looked, in runs
  bool all_machines = false;  ///< runs of other machines than the newest run's, too
  std::string
      alert_threshold;  ///< "80%": alarm too when the newest run is worse than that part of the best
  std::string json;     ///< file for what was found; empty: none

  // Two builds, instead of the recorded runs.
  std::string base;       ///< path of a bench server; empty: none are compared
  std::string candidate;  ///< of another
  RunOptions run;         ///< how they are measured
};

/// Compares the two builds where they are named, else looks at the recorded runs, and says what it found. The exit
/// code: 0, or 1 when something became worse.
int check(const CheckOptions& options);

/// What a comparison of two builds came to, in one scenario.
struct BuildVerdict {
  std::string
      words;  ///< "health: the candidate is slower: CPU µs/request 4.1 % more (3.2–5.0), 20 blocks"
  bool slower = false;
  bool inconclusive = false;
};

/// Measures two bench servers, named by their paths, against each other.
using CompareBuilds =
    std::function<std::vector<BuildVerdict>(const std::string& base, const std::string& candidate)>;

/// Compares, and says what came out. The exit code: 0, or 1 when the candidate is slower anywhere. Throws Failure (exit
/// code 2) when one of the programs is not there, before anything is measured.
int check_builds(const std::string& base, const std::string& candidate,
                 const CompareBuilds& compare);

// ---- Its parts, without input and output ----------------------------------------------------------------------------

/// A change of one series.
struct Change {
  Series series;          ///< with the points that were looked at
  ChangePoint point;      ///< index counts these points
  RecordedCommit commit;  ///< of the first run after it
  std::string date;       ///< of that run
  std::size_t age = 0;    ///< runs since, that one included
  std::vector<std::string>
      coincidences;  ///< what else is different from the run before: "nginx 1.22 → 1.24"

  bool is_worse() const { return (point.ratio < 1) == series.bigger_is_better; }
};

/// A figure of the newest run that is below the threshold.
struct Alert {
  Series series;
  double newest = 0;
  double best = 0;
};

/// What the recorded runs say.
struct HistoryFindings {
  std::size_t runs = 0;  ///< that were looked at
  std::size_t other_machines =
      0;  ///< runs that were left out: made on another machine than the newest
  std::size_t series = 0;
  std::vector<Change> changes;  ///< all that were found, the newest first
  std::vector<Alert> alerts;

  /// Changes to the worse that are recent: what the exit code is about.
  std::vector<Change> regressions(std::size_t recent) const;
};

/// Looks at the parity series of `options.servers`. Throws Failure (exit code 2) on an alert_threshold that is none.
HistoryFindings examine_history(const std::vector<RecordedRun>& runs, const CheckOptions& options);

/// In words, for the terminal.
std::string text_of(const HistoryFindings& findings, const CheckOptions& options);

/// For programs.
std::string json_of(const HistoryFindings& findings, const CheckOptions& options);

}  // namespace leantea::lab

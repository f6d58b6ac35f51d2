// What the side-by-side run prints and writes. Pure functions over the results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "blocks.hpp"
#include "commit.hpp"
#include "machine.hpp"
#include "process.hpp"

namespace leantea::lab {

/// A whole run, for reports.
struct BenchReport {
  std::string command;
  std::optional<Commit> commit;
  Machine machine;
  std::vector<Version> versions;
  Placement placement;
  CpuSource cpu_source = CpuSource::kProcessClock;
  double duration = 1;              ///< seconds of one run
  double confidence = kConfidence;  ///< of every interval
  std::vector<std::string>
      references;      ///< servers that the others are compared with, the first first
  double elapsed = 0;  ///< seconds that all of it took
  std::vector<ContestResult> contests;
  std::optional<ContestResult> rounds;  ///< the table of the backends
  std::vector<std::string> remarks;
};

/// Machine, versions and cores: what stands above the tables.
std::string heading(const BenchReport& report);

/// One contest as a table for the terminal, with the verdicts in words and remarks under it.
std::string table_of(const BenchReport& report, const ContestResult& contest);

/// The table of the backends, one line per round of the project's story.
std::string rounds_table_of(const ContestResult& contest);

/// All of the report as Markdown, to be pasted into a document.
std::string markdown_of(const BenchReport& report);

/// All of the report as JSON: a run of the history (docs/bench.md has the schema).
std::string json_of(const BenchReport& report);

/// The figure that says most about a contest: processor time, latency or memory.
Metric main_metric(const ContestResult& contest);

/// `0.871 (0.862–0.880) faster`, or a dash.
std::string in_words(const std::optional<Interval>& ratio, bool less_is_better);

}  // namespace leantea::lab

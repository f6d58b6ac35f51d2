// What the side-by-side run prints and writes. Pure functions over the results.
#pragma once

#include <string>
#include <vector>

#include "contest.hpp"
#include "machine.hpp"
#include "process.hpp"

namespace leantea::lab {

/// A whole run, for reports.
struct BenchReport {
  std::string command;
  Machine machine;
  std::vector<Version> versions;
  Placement placement;
  CpuSource cpu_source = CpuSource::kProcessClock;
  int rounds = 0;
  int seconds = 0;
  std::vector<ContestResult> contests;
  std::vector<std::string> remarks;
};

/// Servers that the others are compared with, where they took part.
inline constexpr std::string_view kReferences[] = {"nginx", "floor"};

/// Machine, versions and cores: what stands above the tables.
std::string heading(const BenchReport& report);

/// One contest as a table for the terminal, with remarks under it.
std::string table_of(const ContestResult& contest);

/// The table of the backends, one line per round of the project's story.
std::string rounds_table_of(const ContestResult& contest);
std::string rounds_markdown_of(const BenchReport& report);

/// All of the report as Markdown, to be pasted into a document.
std::string markdown_of(const BenchReport& report);

/// All of the report as JSON.
std::string json_of(const BenchReport& report);

}  // namespace leantea::lab

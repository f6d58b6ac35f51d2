// The report page: one HTML file with the recorded runs in it. The page itself (markup, style, scripts) is the template
// that lab/page/ makes; here its data are put together and written into it.
//
// The data, as JSON:
//
//   {"format": 1, "made": date, "repository": address,
//    "runs": [{"date", "commit": {…}, "machine", "voids": ["server in scenario: why", …]}, …],      oldest first
//    "scenarios": [{"name", "title"}, …],
//    "series": [{"scenario", "server", "figure", "to",                       "to" only where it is a ratio
//                "points": [[index of the run, median, low, high, verdict], …],   verdict only in ratios
//                "changes": [{"run", "factor", "low", "high", "coincidences": [text, …]}, …]}, …],   only in ratios
//    "latest": the last run without its blocks; each of its servers has "key", its name in the series,
//    "rounds": {"run": index, "rows": […]}}                                  of the last run that has them
//
// Figures are named as in runs.jsonl, with a point where one is inside another: "server_bound.requests_per_second".
// Main thread only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "history.hpp"

namespace leantea::lab {

struct ReportPageOptions {
  std::string history{kHistoryFolder};                     ///< the folder with runs.jsonl
  std::string page_template = "build/page/template.html";  ///< made by lab/page/build.mjs
  std::string output = "site/bench/index.html";
  std::string repository;  ///< its web address, for commits whose own address was not recorded
};

/// Writes the page, whole or not at all, and says where. The exit code. Throws Failure.
int report_page(const ReportPageOptions& options);

/// The data of the page, as JSON in one line. `made` is the date that the page shows.
std::string page_data(const std::vector<RecordedRun>& runs, const std::string& repository,
                      std::string_view made);

/// The template with the data in it, so that nothing in them ends the element they stand in. Throws Failure when it is
/// no template of ours; `name` is the file's, for the message.
std::string page_with(std::string_view page_template, std::string_view data,
                      const std::string& name);

}  // namespace leantea::lab

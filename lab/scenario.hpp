// What is measured: scenarios, read from lab/scenarios/*.toml or from a file of the user's. Main thread only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "load.hpp"

namespace leantea::lab {

struct Scenario {
  enum class Kind {
    kThroughput,  ///< as many requests as there is time for: requests/s and processor time per request
    kPaced,       ///< a fixed rate: latencies
    kIdle,        ///< open connections: memory
    kSlowReader,  ///< clients that do not read, beside others that do: memory and requests/s
  };

  std::string
      name;  ///< the file's, with `-N` behind it where the file has several numbers of connections
  std::string title;        ///< a few words
  std::string description;  ///< what it shows, and what it does not
  Kind kind = Kind::kThroughput;
  std::vector<std::string> sets;  ///< of "quick" and "standard": the runs that it belongs to
  Load load;
  std::vector<double>
      shares;            ///< of a paced one: the rates as parts of the slowest server's maximum
  int slow_readers = 0;  ///< of a slow-reader one
  bool server_bound = false;  ///< requests/s of the confined server are measured, too

  bool in_set(std::string_view set) const;
};

std::string_view name_of(Scenario::Kind kind);

/// The scenarios in the text of a file `name`.toml. Throws Failure (exit code 2) with the line of a mistake.
std::vector<Scenario> parse_scenarios(std::string_view text, const std::string& name);

/// Those of the lab, in the order of the report.
std::vector<Scenario> all_scenarios();

/// Those that are named: names of the lab's scenarios, `quick`, `standard`, `all`, or paths of files that end with
/// `.toml`. Throws Failure (exit code 2) on a name that there is not.
std::vector<Scenario> find_scenarios(const std::vector<std::string>& names);

/// A table of all, or the whole description of those that are named.
std::string list_scenarios();
std::string describe_scenarios(const std::vector<std::string>& names);

}  // namespace leantea::lab

// The machine that the lab runs on: what it is, which cores server and load generator get, and how busy cores are.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leantea::lab {

/// Where the two sides run. On a machine with one usable core both lists hold that core.
struct Placement {
  std::vector<int> server;
  std::vector<int> load;
  bool shared() const { return server == load; }
  /// True when a core is in both lists.
  bool overlaps() const;
};

/// Cores that this process may use, in order.
std::vector<int> usable_cpus();

/// Throws Failure, naming `flag`, when one of the `wanted` cores is not among the `usable` ones.
void require_cpus(std::string_view flag, const std::vector<int>& wanted,
                  const std::vector<int>& usable);

/// Gives the server the last `workers` usable cores and the load generator one of the others, no hyper-thread of a
/// server's core if there is a choice. Where the cores do not suffice for both, the server keeps its number of cores
/// and the load generator shares them.
Placement place(const std::vector<int>& usable, int workers);

/// Time that a core has spent since the start of the machine, in clock ticks (10 ms).
struct CoreTime {
  double busy = 0;  ///< with what the host took away
  double idle = 0;
  double stolen = 0;  ///< by the host, for other virtual machines
};

/// Sum over `cpus`, from /proc/stat.
CoreTime core_time(const std::vector<int>& cpus);

/// The part of the time between two readings in which the cores were busy, 0 to 1. 0 when no time has passed.
double busy_share(const CoreTime& before, const CoreTime& after);

/// The part that the host took away, 0 to 1.
double stolen_share(const CoreTime& before, const CoreTime& after);

/// A program and what it says about its version.
struct Version {
  std::string program;
  std::string text;
};

struct Machine {
  std::string processor;
  std::size_t cores = 0;
  std::string kernel;
  std::string system;    ///< name of the distribution
  std::string compiler;  ///< the one the lab was built with
  std::string date;      ///< UTC, ISO 8601
  std::uint64_t memory_mib = 0;
  std::vector<Version>
      mitigations;  ///< of /sys/devices/system/cpu/vulnerabilities, those that apply here
};

Machine describe_machine();

/// The machine in one line, for headings.
std::string in_one_line(const Machine& machine);

/// The first word of what `program flag` prints that holds a digit.
Version version_of(const std::string& program, const std::string& flag);

}  // namespace leantea::lab

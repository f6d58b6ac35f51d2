// Which servers a command measures: the arguments that all commands share, and the plans they make.
#pragma once

#include <string>
#include <vector>

#include "load.hpp"
#include "servers.hpp"

namespace leantea::lab {

struct Targets {
  std::vector<std::string> servers;   ///< of ours, nginx, floor
  std::string ours;                   ///< path of the bench server; empty: beside this program
  std::vector<std::string> backends;  ///< of ours; several make several servers
  int workers = 1;
};

/// Plans for the servers of `targets` that can take `load`, in their order. nginx is left out of echoes. Throws
/// Failure (exit code 2) on a name that is not a server.
std::vector<ServerPlan> plans_of(const Targets& targets, const Load& load);

/// One of ours. An empty backend is its default.
ServerPlan ours_plan(const Targets& targets, const std::string& name, const std::string& backend);

ServerPlan nginx_plan(const Targets& targets);

/// The floor of this kind of load.
ServerPlan floor_plan(const Load& load);

/// Throws Failure (exit code 2) that names the Debian package when the program of a plan is not there.
void require_server(const ServerPlan& plan);

}  // namespace leantea::lab

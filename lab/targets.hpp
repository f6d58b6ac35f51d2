// Which servers a command measures: the arguments that all commands share, and the plans they make.
#pragma once

#include <string>
#include <vector>

#include "load.hpp"
#include "servers.hpp"

namespace leantea::lab {

struct Targets {
  std::vector<std::string> servers;   ///< of ours, floor, floor-uring, and the peers
  std::vector<std::string> peers;     ///< peers that take part where they are installed, or `all`
  std::vector<std::string> commands;  ///< that start servers of the user's
  std::vector<std::string> urls;      ///< of servers of the user's that run already
  std::vector<std::string> names;     ///< of `commands`, then of `urls`; missing ones are made up
  std::string ours;                   ///< path of the bench server; empty: beside this program
  std::vector<std::string> backends;  ///< of ours; several make several servers
  int workers = 1;
};

/// Plans for the servers of `targets` that can take `load`, in their order. `left_out` gets a line with the reason for
/// each that is left out, if it does not hold that line yet. With peers, the floors come too.
///
/// Throws Failure (exit code 2) on a name that is no server, on a peer among `servers` that is not installed (without
/// `peers`: then it is left out), and on a command or URL that cannot be used.
std::vector<ServerPlan> plans_of(const Targets& targets, const Load& load,
                                 std::vector<std::string>& left_out);

/// The same; the lines go to the error output, as notes.
std::vector<ServerPlan> plans_of(const Targets& targets, const Load& load);

/// One of ours. An empty backend is its default.
ServerPlan ours_plan(const Targets& targets, const std::string& name, const std::string& backend);

/// A peer. Throws Failure (exit code 2) that says how it is installed when it is not.
ServerPlan peer_plan(const Targets& targets, std::string_view name);

/// The floor of this kind of load, on epoll.
ServerPlan floor_plan(const Load& load);

/// A command line's words: what stands between spaces, where '…' and "…" hold spaces and \ makes the next character an
/// ordinary one. Nothing else of a shell's language. Throws Failure (exit code 2) on a quote that does not end.
std::vector<std::string> command_words(std::string_view line);

/// The port of `http://127.0.0.1:PORT` or `http://localhost:PORT`. Throws Failure (exit code 2) on anything else.
std::uint16_t port_of_url(std::string_view url);

/// Throws Failure (exit code 2) that says what to do when the program of a plan is not there.
void require_server(const ServerPlan& plan);

}  // namespace leantea::lab

// The servers that are measured: ours, the floors, peers (peer.hpp), and servers of the user's. Each but one that
// already runs is started on a free port of 127.0.0.1 and ends, with everything it has started, with its object. Main
// thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "peer.hpp"
#include "process.hpp"

namespace leantea::lab {

enum class Kind {
  kOurs,
  kFloor,
  kPeer,     ///< by its recipe
  kCommand,  ///< the user's own, by a recipe; nothing is known of its routes
  kUrl,      ///< the user's own, which runs already
};

/// How the floor answers (lab/servers/floor.cpp).
enum class FloorMode { kPlain, kPipelined, kHttp10, kEcho, kClose };

/// What to start.
struct ServerPlan {
  Kind kind = Kind::kOurs;
  std::string name = "ours";  ///< in tables
  std::string program;        ///< path of ours or of the floor
  std::string backend;        ///< of ours; empty: its default
  bool keep_alive = true;     ///< of ours; false: `--no-keep-alive`
  int workers = 1;            ///< event loops of ours, worker processes or threads of a peer
  FloorMode floor_mode = FloorMode::kPlain;
  std::size_t content_bytes = 2;         ///< of the floor's answer
  std::vector<int> cpus;                 ///< cores to run on; empty: all
  std::uint64_t connections = 4096;      ///< that it has to be able to hold
  std::vector<std::string> under;        ///< a tracer and its arguments, put before the program
  Recipe recipe;                         ///< of a peer or a command
  std::chrono::milliseconds warm_up{0};  ///< beyond the usual
  Cannot cannot;                         ///< what it is not asked for
  std::uint16_t port = 0;                ///< of a server that runs already
  std::chrono::milliseconds patience = std::chrono::seconds(10);  ///< with its start
};

class Server {
 public:
  /// Starts it and waits until it takes connections. Its files go to a folder of their own in `directory`, which
  /// outlives the server. REQUIRES: require_server(plan) (targets.hpp) did not throw.
  /// Throws Failure with the server's own words when it does not start.
  Server(ServerPlan plan, const std::string& directory);

  const ServerPlan& plan() const { return plan_; }
  const std::string& name() const { return plan_.name; }
  std::uint16_t port() const { return port_; }

  /// Throws Failure with the server's own words when it has ended.
  void must_run();

  /// The processes that it consists of. Empty when they are not known (a server that runs already, of another user).
  std::vector<pid_t> processes() const;

  /// Processor time and memory of all of them; no time when they are not known.
  std::optional<CpuTime> cpu() const;
  Memory memory() const;

  /// REQUIRES: the lab has started it (its kind is not kUrl).
  Process& process() { return process_.value(); }
  const Process& process() const { return process_.value(); }

 private:
  void start(const Recipe& recipe, const std::string& directory);
  bool start_on(std::uint16_t port, const Recipe& recipe, const std::string& directory);
  void wait_for_address();
  void join_running();
  std::string said() const;

  ServerPlan plan_;
  std::optional<Process> process_;
  std::vector<pid_t> running_;  // of a server that runs already
  std::uint16_t port_ = 0;
};

/// The folder of the running program: bench_server and floor are beside it.
std::string program_directory();

/// The backends that this build of ours has, by `--list-backends`. Throws Failure.
std::vector<std::string> list_backends(const std::string& program);

/// The port in the first `http://127.0.0.1:PORT` of `text`, or 0.
std::uint16_t port_in(std::string_view text);

}  // namespace leantea::lab

// The servers that are measured: ours, nginx and the floor. Each is started on a free port of 127.0.0.1 and ends with
// its object. Main thread only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "descriptor.hpp"
#include "process.hpp"

namespace leantea::lab {

enum class Kind { kOurs, kNginx, kFloor };

/// How the floor answers (lab/servers/floor.cpp).
enum class FloorMode { kPlain, kPipelined, kHttp10, kEcho, kClose };

/// What to start.
struct ServerPlan {
  Kind kind = Kind::kOurs;
  std::string name = "ours";  ///< in tables
  std::string program;        ///< path of ours or of the floor; nginx is found by itself
  std::string backend;        ///< of ours; empty: its default
  bool keep_alive = true;     ///< of ours; false: `--no-keep-alive`
  int workers = 1;            ///< event loops of ours, worker processes of nginx
  FloorMode floor_mode = FloorMode::kPlain;
  std::size_t content_bytes = 2;     ///< of the floor's answer
  std::vector<int> cpus;             ///< cores to run on; empty: all
  std::uint64_t connections = 4096;  ///< that it has to be able to hold
  std::vector<std::string> under;    ///< a tracer and its arguments, put before the program
};

class Server {
 public:
  /// Starts it and waits until it takes connections. `directory` is for nginx's files and outlives the server.
  /// REQUIRES: require_server(plan) (targets.hpp) did not throw.
  /// Throws Failure with the server's own words when it does not start.
  Server(ServerPlan plan, const std::string& directory);

  const ServerPlan& plan() const { return plan_; }
  const std::string& name() const { return plan_.name; }
  std::uint16_t port() const { return port_; }
  Process& process() { return *process_; }
  const Process& process() const { return *process_; }

  /// Throws Failure with the server's own words when it has ended.
  void must_run();

 private:
  void start_printing(const std::vector<std::string>& words);
  void start_nginx(const std::string& directory);

  ServerPlan plan_;
  Descriptor reserved_;  // holds nginx's port while it starts and stops
  std::optional<Process> process_;
  std::uint16_t port_ = 0;
};

/// The folder of the running program: bench_server and floor are beside it.
std::string program_directory();

/// The backends that this build of ours has, by `--list-backends`. Throws Failure.
std::vector<std::string> list_backends(const std::string& program);

/// The port in the first `http://127.0.0.1:PORT` of `text`, or 0.
std::uint16_t port_in(std::string_view text);

}  // namespace leantea::lab

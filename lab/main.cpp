// leantea-lab: measures LeanTea's bench server, nginx and the floor on this machine. `leantea-lab --help` lists the
// commands; docs/measuring.md says what the figures mean.

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench.hpp"
#include "check.hpp"
#include "failure.hpp"
#include "idle_memory.hpp"
#include "instructions.hpp"
#include "interrupt.hpp"
#include "paced.hpp"
#include "process.hpp"
#include "profile.hpp"
#include "spread.hpp"
#include "syscalls.hpp"
#include "targets.hpp"

namespace {

using namespace leantea::lab;

/// What the chosen command does when the arguments are understood; its result is the exit code.
using Action = std::function<int()>;

void add_targets(CLI::App& command, Targets& targets) {
  command
      .add_option("--servers", targets.servers,
                  "of ours, floor, floor-uring and the peers (leantea-lab peers lists them)")
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option(
          "--peers", targets.peers,
          "peers to measure too, where they are installed, or all; the floors come with them")
      ->delimiter(',');
  command.add_option("--command", targets.commands,
                     "starts a server of yours; {port} in it becomes a free port; may be repeated");
  command.add_option("--url", targets.urls,
                     "http://127.0.0.1:PORT of a server of yours that runs; may be repeated");
  command.add_option("--name", targets.names,
                     "what the server of a --command, then of a --url is called (default: mine)");
  command.add_option("--ours", targets.ours,
                     "path of the bench server (default: beside this program)");
  command.add_option("--backend", targets.backends, "backend of ours; repeat it for several rows");
}

void add_json(CLI::App& command, std::string& file) {
  command.add_option("--json", file, "write all figures to this file (- for the standard output)");
}

void add_workers(CLI::App& command, Targets& targets) {
  command.add_option("--workers", targets.workers, "event loops of ours, workers of nginx")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

void add_traffic(CLI::App& command, std::vector<Traffic>& traffic, std::uint64_t& echo_bytes) {
  const auto kind = [&](const char* flag, Traffic what, const char* help) {
    command.add_flag_callback(flag, [&traffic, what] { traffic.push_back(what); }, help);
  };
  kind("--plain", Traffic::kPlain,
       "one small GET at a time (the default when no other kind is named)");
  kind("--pipeline", Traffic::kPipelined, "16 pipelined requests");
  kind("--browser", Traffic::kBrowser, "requests with eight browser-like fields, about 700 bytes");
  kind("--new-connections", Traffic::kNewConnections, "a new connection for every request");
  const auto echo = [&traffic, &echo_bytes](const std::uint64_t& size) {
    echo_bytes = size;
    traffic.push_back(Traffic::kEcho);
  };
  command.add_option_function<std::uint64_t>("--echo", echo, "POST /echo with this many bytes");
}

void add_bench(CLI::App& app, BenchOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("bench", "ours, nginx and the floor side by side, in interleaved rounds");
  command->add_flag("--quick", options.quick, "at most 45 s: few loads, short rounds");
  command->add_option("--rounds", options.rounds, "rounds of each load (default 5, quick 3)")
      ->check(CLI::Range(1, 1000));
  command->add_option("--duration", options.seconds, "seconds of one run (default 2, quick 1)")
      ->check(CLI::Range(1, 3600));
  command->add_option("--connections", options.connections, "default 128,512,2000")
      ->delimiter(',')
      ->check(CLI::Range(1, 60000));
  command->add_option("--routes", options.routes, "of /health and /json")->delimiter(',');
  add_targets(*command, options.targets);
  add_workers(*command, options.targets);
  command
      ->add_option("--server-cpus", options.server_cpus, "cores of the servers (default: chosen)")
      ->delimiter(',');
  command
      ->add_option("--load-cpus", options.load_cpus,
                   "cores of the load generator (default: chosen)")
      ->delimiter(',');
  add_traffic(*command, options.traffic, options.echo_bytes);
  command->add_flag("--with-ab,!--without-ab", options.ab,
                    "plain requests with ab -k -c 64 too (default: yes)");
  command->add_flag("--rounds-table", options.rounds_table,
                    "the table of all backends of ours instead");
  add_json(*command, options.json);
  command->add_flag("--markdown", options.markdown, "print one Markdown table, nothing else");
  command->callback([&options, &action] { action = [&options] { return bench(options); }; });
}

void add_syscalls(CLI::App& app, SyscallsOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand("syscalls", "system calls per request, counted by strace");
  add_targets(*command, options.targets);
  command->add_option("--requests", options.requests, "counted requests")
      ->check(CLI::Range(1, 10'000'000));
  command->add_option("--connections", options.connections, "one count for each")
      ->delimiter(',')
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add_json(*command, options.json);
  command->callback([&options, &action] { action = [&options] { return syscalls(options); }; });
}

void add_instructions(CLI::App& app, InstructionsOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "instructions", "user-space instructions per request, counted by callgrind");
  add_targets(*command, options.targets);
  command->add_option("--route", options.routes, "of /health, /json and /echo (default: all)")
      ->delimiter(',');
  command->add_option("--requests", options.requests, "counted requests")
      ->check(CLI::Range(1, 10'000'000));
  command->add_option("--connections", options.connections, "asked in turns")
      ->check(CLI::Range(1, 1000));
  command->add_option("--content-bytes", options.content_bytes, "of an echo (default 5)");
  add_json(*command, options.json);
  command->callback([&options, &action] { action = [&options] { return instructions(options); }; });
}

void add_idle_memory(CLI::App& app, IdleMemoryOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("idle-memory", "user memory per idle keep-alive connection");
  add_targets(*command, options.targets);
  command->add_option("--connections", options.connections, "how many are opened")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_json(*command, options.json);
  command->callback([&options, &action] { action = [&options] { return idle_memory(options); }; });
}

void add_paced(CLI::App& app, PacedOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "paced", "latencies at a fixed rate, counted from the time a request was due");
  add_targets(*command, options.targets);
  add_workers(*command, options.targets);
  command->add_option("--rate", options.rate, "requests/s (default: half of nginx's maximum)")
      ->check(CLI::Range(1.0, 1e7));
  command->add_option("--duration", options.seconds, "seconds of one round")
      ->check(CLI::Range(1, 3600));
  command->add_option("--rounds", options.rounds, "rounds, interleaved")
      ->check(CLI::Range(1, 1000));
  command->add_option("--connections", options.connections, "to send on")
      ->check(CLI::Range(1, 10000));
  command->add_option("--route", options.path, "/health or /json")->capture_default_str();
  add_json(*command, options.json);
  command->callback([&options, &action] { action = [&options] { return paced(options); }; });
}

void add_spread(CLI::App& app, SpreadOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand("spread", "how evenly loops share the connections");
  add_targets(*command, options.targets);
  add_workers(*command, options.targets);
  command->add_option("--connections", options.connections, "opened at once")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command->add_option("--rounds", options.rounds, "servers of each kind, started anew")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add_json(*command, options.json);
  command->callback([&options, &action] { action = [&options] { return spread(options); }; });
}

void add_profile(CLI::App& app, ProfileOptions& options, std::vector<Traffic>& traffic,
                 Action& action) {
  CLI::App* command =
      app.add_subcommand("profile", "a flame graph (SVG) of a server under load, sampled by perf");
  add_targets(*command, options.targets);
  command->add_option("--route", options.route, "/health or /json")->capture_default_str();
  add_traffic(*command, traffic, options.echo_bytes);
  command->add_option("--connections", options.connections, "of wrk")->check(CLI::Range(1, 60000));
  command->add_option("--duration", options.seconds, "seconds")->check(CLI::Range(1, 3600));
  command->add_option("--frequency", options.frequency, "samples per second")
      ->check(CLI::Range(1, 20000));
  command->add_option("-o,--output", options.output, "file to write (default flame-<server>.svg)");
  command->callback([&options, &traffic, &action] {
    action = [&options, &traffic] {
      if (!traffic.empty()) options.traffic = traffic.back();
      return profile(options);
    };
  });
}

void add_check(CLI::App& app, CheckOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "check", "whether it became slower: the recorded runs are searched for a change");
  command->add_option("--history", options.history, "folder of the recorded runs")
      ->capture_default_str();
  command->add_option("--servers", options.servers, "whose changes matter")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--recent", options.recent, "a change counts for so many runs")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--runs", options.runs, "how many runs are looked at")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_flag("--all-machines", options.all_machines,
                    "runs of other machines than the newest run's, too");
  command->add_option("--alert-threshold", options.alert_threshold,
                      "80%: alarm too when a figure is below that part of the best run's");
  add_json(*command, options.json);
  command->callback([&options, &action] { action = [&options] { return check(options); }; });
}

std::string command_line(int argc, char** argv) {
  std::string line = "leantea-lab";
  for (int i = 1; i < argc; ++i) line += fmt::format(" {}", argv[i]);
  return line;
}

int run(int argc, char** argv) {
  CLI::App app("Measures LeanTea's bench server, nginx and the floor on this machine.",
               "leantea-lab");
  app.require_subcommand(1);
  Action action;
  BenchOptions bench_options;
  bench_options.command_line = command_line(argc, argv);
  SyscallsOptions syscalls_options;
  InstructionsOptions instructions_options;
  IdleMemoryOptions idle_memory_options;
  PacedOptions paced_options;
  SpreadOptions spread_options;
  ProfileOptions profile_options;
  std::vector<Traffic> profile_traffic;
  CheckOptions check_options;
  add_bench(app, bench_options, action);
  add_syscalls(app, syscalls_options, action);
  add_instructions(app, instructions_options, action);
  add_idle_memory(app, idle_memory_options, action);
  add_paced(app, paced_options, action);
  add_spread(app, spread_options, action);
  add_profile(app, profile_options, profile_traffic, action);
  add_check(app, check_options, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "leantea-lab: {} (leantea-lab --help lists the commands)\n", error.what());
    return kExitUsage;
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = launch_if_asked(argc, argv)) return *code;
  try {
    catch_interrupts();
    adopt_orphans();
    return run(argc, argv);
  } catch (const Interrupted& interrupted) {
    fmt::print(stderr, "\nleantea-lab: interrupted; everything it started has been stopped\n");
    return interrupted.exit_code();
  } catch (const Failure& failure) {
    fmt::print(stderr, "leantea-lab: {}\n", failure.what());
    return failure.exit_code();
  } catch (const std::exception& error) {
    fmt::print(stderr, "leantea-lab: {}\n", error.what());
    return kExitFailure;
  }
}

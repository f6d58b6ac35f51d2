// leantea-lab: measures LeanTea's bench server, nginx and the floor on this machine. `leantea-lab --help` lists the
// commands; docs/bench.md says what the figures mean.

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench.hpp"
#include "check.hpp"
#include "compare.hpp"
#include "failure.hpp"
#include "history.hpp"
#include "idle_memory.hpp"
#include "instructions.hpp"
#include "interrupt.hpp"
#include "peer_list.hpp"
#include "process.hpp"
#include "profile.hpp"
#include "report_page.hpp"
#include "scenario.hpp"
#include "serve_report.hpp"
#include "spread.hpp"
#include "syscalls.hpp"
#include "targets.hpp"

namespace {

using namespace leantea::lab;

/// What the chosen command does when the arguments are understood; its result is the exit code.
using Action = std::function<int()>;

/// CLI::Range lets nan through, as that is neither below the one nor above the other.
CLI::Validator between(double least, double most) {
  return {[least, most](std::string& text) -> std::string {
            double value = 0;
            const bool inside =
                CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
            return inside ? "" : fmt::format("{} is not in the range {} to {}", text, least, most);
          },
          fmt::format("in [{} - {}]", least, most)};
}

void add_targets(CLI::App& command, Targets& targets) {
  command
      .add_option(
          "--servers", targets.servers,
          "of ours, floor, floor-uring and the peers (leantea-lab peers lists them), or none")
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

/// What every command that makes blocks takes.
void add_blocks(CLI::App& command, RunOptions& run) {
  command
      .add_option("--scenarios", run.scenarios,
                  "names (leantea-lab scenarios lists them), quick, standard, all, or files")
      ->delimiter(',');
  command.add_option("--blocks", run.blocks, "blocks of each scenario")->check(CLI::Range(1, 1000));
  command
      .add_option("--duration", run.seconds,
                  "seconds that a server is asked in a block (default 1)")
      ->check(between(0.1, 3600));
  command.add_option("--connections", run.connections, "instead of the scenarios' own")
      ->check(CLI::Range(1, 60000));
  command.add_option("--wrk-threads", run.threads, "threads of wrk")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command.add_option("--server-cpus", run.server_cpus, "cores of the servers (default: chosen)")
      ->delimiter(',');
  command.add_option("--load-cpus", run.load_cpus, "cores of the load generator (default: chosen)")
      ->delimiter(',');
}

void add_run(CLI::App& command, RunOptions& run) {
  add_blocks(command, run);
  add_targets(command, run.targets);
  add_workers(command, run.targets);
  add_json(command, run.json);
  command.add_flag("--markdown", run.markdown, "print Markdown tables, nothing else");
}

void add_bench(CLI::App& app, BenchOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("bench", "ours, nginx and the floor side by side, in interleaved blocks");
  command->add_flag("--quick", options.quick, "less than a minute: few scenarios, few blocks");
  add_run(*command, options.run);
  command->add_option("--rate", options.rate, "requests/s of paced scenarios")
      ->check(between(1, 1e7));
  command->add_flag("--server-bound,!--without-server-bound", options.server_bound,
                    "runs with a confined server, too (default: yes, where the scenario says so)");
  command->add_flag("--apart", options.apart,
                    "runs one after the other and not in turns: less exact, but with latencies");
  command->add_flag("--rounds-table", options.rounds_table,
                    "the table of all backends of ours; without --scenarios nothing else");
  command->add_flag("--record", options.record, "append the run to the history");
  command->add_option("--history", options.history, "folder of the history")->capture_default_str();
  command->add_option("--benches", options.benches,
                      "write the main figures to this file, for github-action-benchmark");
  command->callback([&options, &action] { action = [&options] { return bench(options); }; });
}

void add_compare(CLI::App& app, CompareOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "compare", "a server of yours with nginx and ours, until the verdict is clear");
  add_run(*command, options.run);
  command->add_option("--reference", options.reference,
                      "the server that the others are compared with (default: the last)");
  command->callback([&options, &action] { action = [&options] { return compare(options); }; });
}

void add_self_check(CLI::App& app, SelfCheckOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "self-check", "whether equal servers come out equivalent here, and a slowed one slower");
  add_blocks(*command, options.run);
  command->add_option("--ours", options.run.targets.ours,
                      "path of the bench server (default: beside this program)");
  command->add_option("--slowed", options.slowed,
                      "a slower build (default: bench_server_slowed beside this program)");
  command->add_option("--tries", options.tries, "how often")->check(CLI::Range(1, 1000));
  command->callback([&options, &action] { action = [&options] { return self_check(options); }; });
}

void add_scenarios(CLI::App& app, std::vector<std::string>& names, Action& action) {
  CLI::App* command = app.add_subcommand("scenarios", "lists the scenarios, or describes some");
  command->add_option("names", names, "scenarios to describe");
  command->callback([&names, &action] {
    action = [&names] {
      fmt::print("{}", names.empty() ? list_scenarios() : describe_scenarios(names));
      return 0;
    };
  });
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
      ->delimiter(',')
      ->check(CLI::IsMember({"/health", "/json", "/echo"}));
  command->add_option("--requests", options.requests, "counted requests")
      ->check(CLI::Range(1, 10'000'000));
  command->add_option("--connections", options.connections, "asked in turns")
      ->check(CLI::Range(1, 1000));
  command->add_option("--content-bytes", options.content_bytes, "of an echo (default 5)")
      ->check(CLI::Range(0, 1 << 30));
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

void add_profile(CLI::App& app, ProfileOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("profile", "a flame graph (SVG) of a server under load, sampled by perf");
  add_targets(*command, options.targets);
  command->add_option("--scenario", options.scenario, "what is sent")->capture_default_str();
  command->add_option("--connections", options.connections, "instead of the scenario's own")
      ->check(CLI::Range(1, 60000));
  command->add_option("--duration", options.seconds, "seconds")->check(CLI::Range(1, 3600));
  command->add_option("--frequency", options.frequency, "samples per second")
      ->check(CLI::Range(1, 20000));
  command->add_option("-o,--output", options.output, "file to write (default flame-<server>.svg)");
  command->callback([&options, &action] { action = [&options] { return profile(options); }; });
}

void add_check(CLI::App& app, CheckOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "check", "whether it became slower: searches the recorded runs, or compares two builds");
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
  command->add_option("--base", options.base, "path of a bench server, instead of recorded runs");
  command->add_option("--candidate", options.candidate, "path of the one that may be slower");
  command->add_option("--scenarios", options.run.scenarios, "for two builds (default: health)")
      ->delimiter(',');
  command->add_option("--blocks", options.run.blocks, "for two builds (default: until it is clear)")
      ->check(CLI::Range(1, 1000));
  command->add_option("--duration", options.run.seconds, "seconds of one run of two builds")
      ->check(between(0.1, 3600));
  add_json(*command, options.json);
  command->callback([&options, &action] { action = [&options] { return check(options); }; });
}

void add_report(CLI::App& app, ReportPageOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand("report", "the recorded runs as a page for the browser");
  command->add_option("--history", options.history, "folder of the recorded runs")
      ->capture_default_str();
  command->add_option("--template", options.page_template, "the page without data (./dev makes it)")
      ->capture_default_str();
  command->add_option("--output", options.output, "file to write")->capture_default_str();
  command->add_option("--repository", options.repository,
                      "web address, for links to commits that have none of their own");
  command->callback([&options, &action] { action = [&options] { return report_page(options); }; });
}

void add_serve_report(CLI::App& app, ServeReportOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand("serve-report", "serves that page at /bench/");
  command->add_option("--host", options.host, "where to listen")->capture_default_str();
  command->add_option("--port", options.port, "0 takes a free one")->capture_default_str();
  command->add_option("--site", options.site, "folder whose bench/ is served")
      ->capture_default_str();
  command->callback([&options, &action] { action = [&options] { return serve_report(options); }; });
}

void add_peers(CLI::App& app, PeerListOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand("peers", "the rivals, and which of them are installed");
  command->add_option("names", options.names, "only these (default: all)")->delimiter(',');
  command
      ->add_option("--needs", options.needs,
                   "list what they need: packages of debian or npm, or targets")
      ->check(CLI::IsMember({"debian", "npm", "target"}));
  command->callback([&options, &action] { action = [&options] { return list_peers(options); }; });
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
  bench_options.history = kHistoryFolder;
  CompareOptions compare_options;
  SelfCheckOptions self_check_options;
  std::vector<std::string> scenario_names;
  for (RunOptions* run : {&bench_options.run, &compare_options.run, &self_check_options.run})
    run->command_line = command_line(argc, argv);
  SyscallsOptions syscalls_options;
  InstructionsOptions instructions_options;
  IdleMemoryOptions idle_memory_options;
  SpreadOptions spread_options;
  ProfileOptions profile_options;
  CheckOptions check_options;
  ReportPageOptions report_page_options;
  ServeReportOptions serve_report_options;
  PeerListOptions peer_list_options;
  add_bench(app, bench_options, action);
  add_compare(app, compare_options, action);
  add_self_check(app, self_check_options, action);
  add_scenarios(app, scenario_names, action);
  add_syscalls(app, syscalls_options, action);
  add_instructions(app, instructions_options, action);
  add_idle_memory(app, idle_memory_options, action);
  add_spread(app, spread_options, action);
  add_profile(app, profile_options, action);
  add_check(app, check_options, action);
  add_report(app, report_page_options, action);
  add_serve_report(app, serve_report_options, action);
  add_peers(app, peer_list_options, action);
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

/// What was printed may reach the standard output only here, so that only here a full disk shows.
void finish_output() {
  std::cout.flush();  // the help is written there
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return;
  throw Failure(
      fmt::format("cannot write all of the results to the standard output ({}): make room, or send "
                  "it elsewhere",
                  std::strerror(errno)));
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = launch_if_asked(argc, argv)) return *code;
  try {
    catch_interrupts();
    adopt_orphans();
    const int code = run(argc, argv);
    finish_output();
    return code;
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

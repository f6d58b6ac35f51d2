#include "targets.hpp"

#include <fmt/format.h>

#include "checks.hpp"
#include "failure.hpp"
#include "process.hpp"

namespace leantea::lab {
namespace {

FloorMode floor_mode_for(const Load& load) {
  switch (load.traffic) {
    case Traffic::kPipelined:
      return FloorMode::kPipelined;
    case Traffic::kEcho:
      return FloorMode::kEcho;
    case Traffic::kNewConnections:
      return FloorMode::kClose;
    case Traffic::kPlain:
    case Traffic::kBrowser:
      break;
  }
  return load.tool == Tool::kAb ? FloorMode::kHttp10 : FloorMode::kPlain;
}

}  // namespace

ServerPlan ours_plan(const Targets& targets, const std::string& name, const std::string& backend) {
  return {.kind = Kind::kOurs,
          .name = name,
          .program = targets.ours.empty() ? program_directory() + "/bench_server" : targets.ours,
          .backend = backend,
          .workers = targets.workers,
          .cpus = {}};
}

ServerPlan nginx_plan(const Targets& targets) {
  return {.kind = Kind::kNginx,
          .name = "nginx",
          .program = {},
          .backend = {},
          .workers = targets.workers,
          .cpus = {}};
}

ServerPlan floor_plan(const Load& load) {
  return {.kind = Kind::kFloor,
          .name = "floor",
          .program = program_directory() + "/floor",
          .backend = {},
          .floor_mode = floor_mode_for(load),
          .content_bytes = load.path == "/json" ? kJson.size() : 2,
          .cpus = {}};
}

std::vector<ServerPlan> plans_of(const Targets& targets, const Load& load) {
  std::vector<ServerPlan> plans;
  for (const std::string& name : targets.servers) {
    if (name == "nginx") {
      if (load.traffic != Traffic::kEcho) plans.push_back(nginx_plan(targets));
    } else if (name == "floor") {
      plans.push_back(floor_plan(load));
    } else if (name == "ours") {
      if (targets.backends.empty()) plans.push_back(ours_plan(targets, "ours", ""));
      for (const std::string& backend : targets.backends) {
        plans.push_back(
            ours_plan(targets, targets.backends.size() == 1 ? "ours" : "ours " + backend, backend));
      }
    } else {
      throw Failure(fmt::format("'{}' is not a server: ours, nginx, floor", name), kExitUsage);
    }
  }
  return plans;
}

void require_server(const ServerPlan& plan) {
  if (plan.kind == Kind::kNginx) {
    require_program("nginx", "nginx-light");
  } else if (find_program(plan.program).empty()) {
    throw Failure(
        fmt::format(
            "{} is not there: build it (./dev build){}", plan.program,
            plan.kind == Kind::kOurs
                ? ", name another with --ours PATH, or leave it out with --servers nginx,floor"
                : ""),
        kExitUsage);
  }
}

}  // namespace leantea::lab

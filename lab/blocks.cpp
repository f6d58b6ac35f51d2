#include "blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include "checks.hpp"
#include "client.hpp"
#include "confinement.hpp"
#include "failure.hpp"

namespace leantea::lab {
namespace {

constexpr int kAttempts = 3;    // a void run is repeated at most twice
constexpr double kFull = 0.95;  // a core that is as busy as this has nothing left
// The client's own part of a full core, from which on the core is full because of the client.
constexpr double kMostly = 0.85;
// Other programs' part of a core, and the host's, beyond which a run says nothing. The kernel counts in ticks of
// 10 ms, so less than this cannot be told from nothing in half a second.
constexpr double kDisturbed = 0.10;
constexpr double kStolen = 0.05;
constexpr std::uint64_t kAbSizingRequests = 4000;

double seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

double count_of(const std::vector<int>& cpus) {
  return static_cast<double>(std::max<std::size_t>(cpus.size(), 1));
}

/// What the cores have done so far.
class Cores {
 public:
  explicit Cores(const Placement& placement)
      : server_(core_time(placement.server)), load_(core_time(placement.load)) {}

  double server_busy(const Cores& later) const { return busy_share(server_, later.server_); }
  double load_busy(const Cores& later) const { return busy_share(load_, later.load_); }
  double stolen(const Cores& later) const {
    return std::max(stolen_share(server_, later.server_), stolen_share(load_, later.load_));
  }

 private:
  CoreTime server_;
  CoreTime load_;
};

std::optional<double> value_of(const Sample& sample, Metric metric) {
  const auto unless_zero = [](double value) {
    return value > 0 ? std::optional(value) : std::nullopt;
  };
  switch (metric) {
    case Metric::kRequestsPerSecond:
    case Metric::kServerBound:
      return unless_zero(sample.load.requests_per_second);
    case Metric::kP50:
      return unless_zero(sample.load.p50);
    case Metric::kP99:
      return unless_zero(sample.load.p99);
    case Metric::kCpuMicros:
      return unless_zero(sample.cpu_micros_per_request());
    case Metric::kBytesPerConnection:
      return unless_zero(sample.bytes_per_connection);
  }
  return std::nullopt;
}

std::optional<double> value_of(const BlockRuns& block, Metric metric) {
  if (metric == Metric::kServerBound)
    return block.confined ? value_of(*block.confined, metric) : std::nullopt;
  double logarithms = 0;
  for (const Sample& sample : block.samples) {
    const auto value = value_of(sample, metric);
    if (!value) return std::nullopt;
    logarithms += std::log(*value);
  }
  if (block.samples.empty()) return std::nullopt;
  return std::exp(logarithms / static_cast<double>(block.samples.size()));
}

double median_of(const Lane& lane, double (*figure)(const Sample&)) {
  std::vector<double> values;
  for (const BlockRuns& block : lane.blocks) {
    for (const Sample& sample : block.samples) values.push_back(figure(sample));
  }
  return values.empty() ? 0 : median(values);
}

/// The lanes in the order in which block `number` begins.
std::vector<std::size_t> order_of(std::size_t lanes, std::size_t number) {
  const auto forwards = std::views::iota(std::size_t{0}, lanes);
  std::vector<std::size_t> order(forwards.begin(), forwards.end());
  if (number % 2 == 1) std::ranges::reverse(order);
  return order;
}

std::vector<Lane> lanes_of(const std::vector<Entrant>& entrants) {
  std::vector<Lane> lanes;
  for (const Entrant& entrant : entrants) {
    lanes.push_back({.name = entrant.server.name,
                     .backend = entrant.server.backend,
                     .load = entrant.load,
                     .blocks = {},
                     .voids = {},
                     .latency = {}});
  }
  return lanes;
}

}  // namespace

double Sample::cpu_micros_per_request() const {
  return load.requests == 0 ? 0 : seconds(server_cpu) * 1e6 / static_cast<double>(load.requests);
}

bool Lane::is_void() const {
  return std::ranges::any_of(blocks, [](const BlockRuns& block) { return block.samples.empty(); });
}

std::string_view name_of(Metric metric) {
  switch (metric) {
    case Metric::kRequestsPerSecond:
      return "requests_per_second";
    case Metric::kP50:
      return "p50_us";
    case Metric::kP99:
      return "p99_us";
    case Metric::kCpuMicros:
      return "cpu_us_per_request";
    case Metric::kServerBound:
      return "server_bound";
    case Metric::kBytesPerConnection:
      return "bytes_per_connection";
  }
  return "";
}

bool less_is_better(Metric metric) {
  return metric != Metric::kRequestsPerSecond && metric != Metric::kServerBound;
}

Values values_of(const Lane& lane, Metric metric) {
  Values values;
  for (const BlockRuns& block : lane.blocks) values.push_back(value_of(block, metric));
  return values;
}

const Lane* ContestResult::lane(std::string_view wanted) const {
  const auto found = std::ranges::find(lanes, wanted, &Lane::name);
  return found == lanes.end() ? nullptr : &*found;
}

bool ContestResult::any_void() const { return std::ranges::any_of(lanes, &Lane::is_void); }

ContestResult empty_contest(std::string name, std::string title, double rate) {
  return {.name = std::move(name),
          .title = std::move(title),
          .rate = rate,
          .lanes = {},
          .orders = {},
          .disturbances = {},
          .kept_disturbances = {},
          .remarks = {}};
}

std::optional<Interval> figure_of(const Lane& lane, Metric metric, double confidence) {
  return interval_of(values_of(lane, metric), confidence);
}

std::optional<Interval> ratio_of(const ContestResult& contest, const Lane& lane,
                                 std::string_view reference, Metric metric, double confidence) {
  const Lane* base = contest.lane(reference);
  if (base == nullptr || base == &lane) return std::nullopt;
  return interval_of_ratios(paired_ratios(values_of(lane, metric), values_of(*base, metric)),
                            confidence);
}

bool limited_by_client(const Lane& lane) {
  const double core = median_of(lane, [](const Sample& s) { return s.load_core_busy; });
  const double client = median_of(lane, [](const Sample& s) { return s.load_share; });
  const double server = median_of(lane, [](const Sample& s) { return s.server_share; });
  return core >= kFull && client >= kMostly && server < kFull;
}

std::string disturbance_of(const Sample& sample) {
  if (sample.stolen > kStolen)
    return fmt::format("the host took {:.0f} % of the cores", sample.stolen * 100);
  const double of_server = sample.server_cores_busy - sample.server_share;
  const double of_load = sample.load_core_busy - sample.load_share;
  if (of_server > kDisturbed)
    return fmt::format("other programs took {:.0f} % of the server's cores", of_server * 100);
  if (of_load > kDisturbed)
    return fmt::format("other programs took {:.0f} % of the client's core", of_load * 100);
  return "";
}

std::chrono::milliseconds turn_for(const Load& load) {
  return load.tool == Tool::kWrk ? kTurn : std::chrono::milliseconds(0);
}

void warm_up(const Server& server, const Load& load, Clock::duration time) {
  const auto end = Clock::now() + time + server.plan().warm_up;
  const std::string request =
      bytes_of(load.first(), server.port(), load.requests_per_connection == 1);
  while (Clock::now() < end) {
    Client client(server.port());
    do {
      const Answer answer = client.exchange(request);
      if (answer.field("connection").value_or("") == "close") break;
    } while (Clock::now() < end);
  }
}

void Stage::prepare(std::vector<Entrant>& entrants, std::vector<std::string>& remarks) {
  std::vector<HeadSize> heads;
  const auto add = [&remarks](const std::string& line) {
    if (std::ranges::find(remarks, line) == remarks.end()) remarks.push_back(line);
  };
  std::erase_if(entrants, [&](const Entrant& entrant) {
    ServerPlan plan = entrant.server;
    plan.cpus = placement_.server;
    const Server server(std::move(plan), directory_.path());
    try {
      for (const std::string& route : entrant.load.routes())
        heads.push_back(check(server, route, entrant.load.first().content.size()));
    } catch (const RouteMissing& missing) {
      add(missing.what());
      return true;
    }
    return false;
  });
  for (const std::string& line : describe(heads)) add(line);
}

std::unique_ptr<Server> Stage::start(ServerPlan plan, const Load& load) {
  plan.cpus = placement_.server;
  auto server = std::make_unique<Server>(std::move(plan), directory_.path());
  for (const std::string& route : load.routes()) check(*server, route, load.first().content.size());
  return server;
}

Sample Stage::measure(Server& server, const Load& load) {
  const Cores before(placement_);
  const auto cpu_before = server.cpu();
  const auto start = Clock::now();
  Sample sample{.load = run_load(load, server.port(), placement_.load, directory_.path())};
  const double wall = seconds(Clock::now() - start);
  const auto cpu_after = server.cpu();
  const Cores after(placement_);
  if (cpu_before && cpu_after) {
    cpu_source_ = cpu_after->source;
    sample.server_cpu = cpu_after->spent - cpu_before->spent;
  }
  sample.server_share = seconds(sample.server_cpu) / wall / count_of(placement_.server);
  sample.load_share = seconds(sample.load.cpu) / wall / count_of(placement_.load);
  sample.server_cores_busy = before.server_busy(after);
  sample.load_core_busy = before.load_busy(after);
  sample.stolen = before.stolen(after);
  if (placement_
          .overlaps()) {  // what runs on a core is then both, and nothing can be said of others
    sample.server_cores_busy = sample.server_share;
    sample.load_core_busy = sample.load_share;
  }
  return sample;
}

std::optional<Sample> Stage::attempt(Lane& lane, Server& server, const Load& load) {
  for (int i = 0; i < kAttempts; ++i) {
    server.must_run();
    try {
      Sample sample = measure(server, load);
      if (sample.load.sound()) return sample;
      lane.voids.push_back(fault_of(sample.load));
    } catch (const Failure& failure) {  // the client itself failed
      lane.voids.emplace_back(failure.what());
    }
  }
  return std::nullopt;
}

/// What one block gave: a part for each lane.
struct Stage::Block {
  std::vector<BlockRuns> parts;
  std::vector<std::string> order;
  std::string disturbance;
};

Stage::Block Stage::make_block(const std::vector<Entrant>& entrants, std::size_t number,
                               const BlockPlan& plan, ContestResult& result,
                               const Progress& progress) {
  Block block{.parts = std::vector<BlockRuns>(entrants.size()), .order = {}, .disturbance = {}};
  std::vector<std::unique_ptr<Server>> servers;
  for (const Entrant& entrant : entrants) {
    servers.push_back(start(entrant.server, entrant.load));
    warm_up(*servers.back(), entrant.load, plan.warm_up);
  }
  const std::vector<std::size_t> there = order_of(entrants.size(), number);
  std::vector<std::size_t> order = there;
  order.insert(order.end(), there.rbegin(), there.rend());

  std::vector<bool> is_void(entrants.size(), false);
  const auto note = [&block](const Sample& sample, const std::string& name) {
    const std::string what = disturbance_of(sample);
    if (block.disturbance.empty() && !what.empty())
      block.disturbance = fmt::format("{} while {} ran", what, name);
  };
  for (const std::size_t i : order) {
    Lane& lane = result.lanes[i];
    block.order.push_back(lane.name);
    if (is_void[i]) continue;
    progress(lane.name);
    const auto sample = attempt(lane, *servers[i], lane.load);
    if (sample) {
      note(*sample, lane.name);
      block.parts[i].samples.push_back(*sample);
    } else {
      is_void[i] = true;
      block.parts[i].samples.clear();
    }
  }
  if (plan.server_bound) {
    for (const std::size_t i : there) {
      if (!is_void[i])
        block.parts[i].confined = run_confined(result.lanes[i], *servers[i], progress);
    }
  }
  return block;
}

std::optional<Sample> Stage::run_confined(Lane& lane, Server& server, const Progress& progress) {
  progress(lane.name + ", confined");
  const Confinement confinement(server.processes(), placement_.server, kConfinedShare);
  return attempt(lane, server, lane.load);
}

namespace {

/// ab is told a number of requests, not a time: finds how many take about as long as a run of wrk. A server with which
/// ab does not work keeps the small number; its runs will say why they are void.
void size_for_ab(Stage& stage, const Entrant& entrant, Load& load) {
  if (load.tool != Tool::kAb || load.count > 0) return;
  load.count = kAbSizingRequests;
  try {
    const auto server = stage.start(entrant.server, load);
    const Sample sample = stage.measure(*server, load);
    const double wanted = sample.load.requests_per_second * seconds(load.duration);
    load.count = std::max(kAbSizingRequests, static_cast<std::uint64_t>(wanted));
  } catch (const Failure&) {
    return;
  }
}

}  // namespace

/// A server of a block in turns, with the load that it gets.
struct Stage::Side {
  std::unique_ptr<Server> server;
  std::unique_ptr<RestingLoad> load;
  std::optional<CpuTime> before;
  std::string fault;
};

std::vector<Stage::Side> Stage::start_sides(const std::vector<Entrant>& entrants,
                                            const BlockPlan& plan, const ContestResult& result) {
  std::vector<Side> sides(entrants.size());
  for (std::size_t i = 0; i < entrants.size(); ++i) {
    const Load& load = result.lanes[i].load;
    sides[i].server = start(entrants[i].server, load);
    warm_up(*sides[i].server, load, plan.warm_up);
    sides[i].before = sides[i].server->cpu();
    sides[i].load = std::make_unique<RestingLoad>(load, sides[i].server->port(), placement_.load,
                                                  fmt::format("{}/load-{}", directory(), i));
  }
  return sides;
}

void Stage::take_turns(std::vector<Side>& sides, const std::vector<std::size_t>& order,
                       std::int64_t times, std::chrono::milliseconds turn) {
  for (std::int64_t k = 0; k < times; ++k) {
    for (const std::size_t i : order) {
      Side& side = sides[i];
      if (!side.fault.empty()) continue;
      try {
        side.load->take_turn(turn);
      } catch (const Failure& failure) {
        side.fault = failure.what();
      }
    }
  }
}

/// Ends a side's load: its figures, or nothing where they are void.
std::optional<Sample> Stage::finish(Side& side, Lane& lane) {
  side.server->must_run();
  Sample sample;
  try {
    if (side.fault.empty()) sample.load = side.load->finish();
    if (side.fault.empty() && !sample.load.sound()) side.fault = fault_of(sample.load);
  } catch (const Failure& failure) {
    side.fault = failure.what();
  }
  if (!side.fault.empty()) {
    lane.voids.push_back(side.fault);
    return std::nullopt;
  }
  if (const auto cpu = side.server->cpu(); cpu && side.before) {
    cpu_source_ = cpu->source;
    sample.server_cpu = cpu->spent - side.before->spent;
  }
  const double active = sample.load.seconds;
  sample.server_share = seconds(sample.server_cpu) / active / count_of(placement_.server);
  sample.load_share = seconds(sample.load.cpu) / active / count_of(placement_.load);
  return sample;
}

/// Puts what others did on the cores into the samples: only the whole block's part of it is known.
void Stage::note_others(Block& block, double server_busy, double load_busy, double stolen,
                        double wall) const {
  for (const BlockRuns& part : block.parts) {
    for (const Sample& sample : part.samples) {
      server_busy -= seconds(sample.server_cpu) / wall / count_of(placement_.server);
      load_busy -= seconds(sample.load.cpu) / wall / count_of(placement_.load);
    }
  }
  const bool known = !placement_.overlaps();
  for (BlockRuns& part : block.parts) {
    for (Sample& sample : part.samples) {
      sample.server_cores_busy = sample.server_share + (known ? std::max(0.0, server_busy) : 0);
      sample.load_core_busy = sample.load_share + (known ? std::max(0.0, load_busy) : 0);
      sample.stolen = stolen;
      if (block.disturbance.empty()) block.disturbance = disturbance_of(sample);
    }
  }
}

Stage::Block Stage::make_turned_block(const std::vector<Entrant>& entrants, std::size_t number,
                                      const BlockPlan& plan, ContestResult& result,
                                      const Progress& progress) {
  const std::vector<std::size_t> there = order_of(entrants.size(), number);
  std::vector<std::size_t> order = there;
  order.insert(order.end(), there.rbegin(), there.rend());
  Block block{.parts = std::vector<BlockRuns>(entrants.size()), .order = {}, .disturbance = {}};
  for (const std::size_t i : order) block.order.push_back(result.lanes[i].name);
  progress("all in turns");

  std::vector<Side> sides = start_sides(entrants, plan, result);
  const Cores before(placement_);
  const auto start = Clock::now();
  const auto times = std::max<std::int64_t>(result.lanes.front().load.duration / plan.turn / 2, 1);
  take_turns(sides, order, times, plan.turn);
  const double wall = seconds(Clock::now() - start);
  const Cores after(placement_);
  for (const std::size_t i : there) {
    if (const auto sample = finish(sides[i], result.lanes[i]))
      block.parts[i].samples.push_back(*sample);
  }
  note_others(block, before.server_busy(after), before.load_busy(after), before.stolen(after),
              wall);
  if (plan.server_bound) {
    for (const std::size_t i : there) {
      if (block.parts[i].samples.empty()) continue;
      block.parts[i].confined = run_confined(result.lanes[i], *sides[i].server, progress);
    }
  }
  return block;
}

void Stage::add(Block block, ContestResult& result) {
  for (std::size_t i = 0; i < block.parts.size(); ++i)
    result.lanes[i].blocks.push_back(std::move(block.parts[i]));
  result.orders.push_back(std::move(block.order));
}

void Stage::run(const std::vector<Entrant>& entrants, const BlockPlan& plan, ContestResult& result,
                const Progress& progress) {
  if (result.lanes.empty()) {
    result.lanes = lanes_of(entrants);
    for (std::size_t i = 0; i < entrants.size(); ++i)
      size_for_ab(*this, entrants[i], result.lanes[i].load);
  }
  Clock::duration longest = 2 * entrants.size() * Clock::duration(entrants.front().load.duration);
  int again = plan.blocks;
  while (std::cmp_less(result.orders.size(), plan.blocks)) {
    const auto start = Clock::now();
    if (start + longest > plan.deadline) break;
    const std::size_t number = result.orders.size();
    const auto make = plan.turn.count() > 0 ? &Stage::make_turned_block : &Stage::make_block;
    Block block = (this->*make)(entrants, number, plan, result, [&](const std::string& what) {
      progress(fmt::format("block {} of {}, {}", number + 1, plan.blocks, what));
    });
    longest = std::max(longest, Clock::now() - start);
    if (!block.disturbance.empty()) {
      const bool repeat = again-- > 0;
      (repeat ? result.disturbances : result.kept_disturbances).push_back(block.disturbance);
      if (repeat) continue;
    }
    add(std::move(block), result);
  }
}

void Stage::run_apart(const std::vector<Entrant>& entrants, const BlockPlan& plan,
                      ContestResult& result, const Progress& progress, const Measure& measure) {
  if (result.lanes.empty()) result.lanes = lanes_of(entrants);
  while (std::cmp_less(result.orders.size(), plan.blocks) && Clock::now() < plan.deadline) {
    const std::size_t number = result.orders.size();
    Block block{.parts = std::vector<BlockRuns>(entrants.size()), .order = {}, .disturbance = {}};
    for (const std::size_t i : order_of(entrants.size(), number)) {
      Lane& lane = result.lanes[i];
      block.order.push_back(lane.name);
      progress(fmt::format("block {} of {}, {}", number + 1, plan.blocks, lane.name));
      const auto server = start(entrants[i].server, lane.load);
      warm_up(*server, lane.load, plan.warm_up);
      try {
        block.parts[i].samples.push_back(measure(i, *server));
      } catch (const Failure& failure) {
        lane.voids.emplace_back(failure.what());
      }
    }
    add(std::move(block), result);
  }
}

}  // namespace leantea::lab

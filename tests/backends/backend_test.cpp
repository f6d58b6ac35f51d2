#include "backend_test.hpp"

#include <dirent.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <thread>

namespace leantea::test {
namespace {

std::size_t number(std::string_view text) { return std::stoull(std::string(text)); }

/// Waits until the test opens the stage, or the handler is asked to stop: then false.
Task<bool> opened(Stage& stage, Request& request) {
  while (!stage.open) {
    const bool slept = co_await sleep(5ms);
    if (slept) continue;
    ++stage.stopped;
    co_return false;
  }
  co_return !request.stop_token().stop_requested();
}

/// The size of the content, told as it comes.
Task<Response> count_content(Stage& stage, Request& request) {
  std::size_t count = 0;
  while (const auto part = co_await request.next_chunk()) {
    count += part->size();
    stage.bytes_in += part->size();
  }
  co_return Response::text(std::to_string(count));
}

Task<Response> hold(Stage& stage, Request& request) {
  const Stage::Visit visit(stage);
  const bool went_on = co_await opened(stage, request);
  co_return Response::text(std::string(went_on ? "held" : "stopped"));
}

/// Waits on a worker until the test opens the stage or the stop token fires.
Task<Response> hold_offloaded(Stage& stage, Request& request) {
  const Stage::Visit visit(stage);
  const std::stop_token stop = request.stop_token();
  const auto wait = [&stage, stop] {
    ++stage.working;
    while (!stage.open && !stop.stop_requested()) std::this_thread::sleep_for(1ms);
    if (stop.stop_requested()) ++stage.stopped;
  };
  co_await offload(wait);
  co_return Response::text("home");
}

/// `count` bytes, written a kilobyte at a time.
Response write_bytes(Stage& stage, std::size_t count) {
  return Response::stream(
      "application/octet-stream",
      [&stage, count](Writer& out) -> Task<> {
        const std::string kilobyte(1024, 'x');
        for (std::size_t left = count; left > 0;) {
          const std::size_t size = std::min(left, kilobyte.size());
          co_await out.write(std::string_view(kilobyte).substr(0, size));
          stage.bytes_out += size;
          left -= size;
        }
      },
      count);
}

/// Why this machine does not let a backend run; empty where it does. Asked once for each.
std::string problem_of(std::string_view backend) {
  static std::map<std::string_view, std::string> known;
  const auto [entry, is_new] = known.try_emplace(backend);
  if (is_new) {
    const ServerOptions options{
        .port = 0, .backend = std::string(backend), .log = [](std::string_view) {}};
    if (const auto started = Server(Router{}, options).start(); !started) {
      entry->second = started.error();
    }
  }
  return entry->second;
}

}  // namespace

Router BackendTest::make_app(Stage& stage) {
  Router app;
  app.get("/health", [](const Request&) { return Response::text("OK"); });
  app.get("/count", [&stage](const Request&) {
    ++stage.requests;
    return Response::text("OK");
  });
  app.post("/echo", [](Request& r) { return Response::bytes(r.take_body()); });
  app.post("/size", [&stage](Request& r) { return count_content(stage, r); });
  app.get("/hold", [&stage](Request& r) { return hold(stage, r); });
  app.get("/hold-offloaded", [&stage](Request& r) { return hold_offloaded(stage, r); });
  app.post("/gate", [&stage](Request& r) -> Task<Response> {
    const Stage::Visit visit(stage);
    if (!co_await opened(stage, r)) co_return Response::text("stopped");
    co_return co_await count_content(stage, r);
  });
  app.get("/bytes/{count}",
          [&stage](const Request& r) { return write_bytes(stage, number(r.param("count"))); });
  app.get("/offload/{ms}", [](Request& r) -> Task<Response> {
    const std::chrono::milliseconds time(number(r.param("ms")));
    co_return Response::text(co_await offload([time] {
      std::this_thread::sleep_for(time);
      return std::string("done");
    }));
  });
  return app;
}

BackendTest::BackendTest() {
  options.port = 0;
  options.backend = std::string(backend());
  options.log = [log = log_](std::string_view line) {
    const std::lock_guard lock(log->mutex);
    log->lines.emplace_back(line);
  };
}

BackendTest::~BackendTest() = default;

void BackendTest::SetUp() {
  if (const std::string problem = problem_of(backend()); !problem.empty()) GTEST_SKIP() << problem;
}

void BackendTest::serve() {
  server.emplace(std::move(app), options);
  if (const auto started = server->start(); !started) throw std::runtime_error(started.error());
}

std::string BackendTest::problem_at_start() {
  const auto started = Server(make_app(stage), options).start();
  return started ? "none" : started.error();
}

std::vector<Client> BackendTest::connect(std::size_t count) const {
  std::vector<Client> clients;
  clients.reserve(count);
  while (clients.size() < count) clients.push_back(connect());
  return clients;
}

bool BackendTest::eventually_no_connections() const {
  return eventually([this] { return server->connections() == 0; });
}

std::vector<std::string> BackendTest::log_lines() const {
  const std::lock_guard lock(log_->mutex);
  return log_->lines;
}

bool BackendTest::logged(std::string_view part) const {
  return std::ranges::any_of(log_lines(),
                             [part](const std::string& line) { return line.contains(part); });
}

std::string backend_name(const testing::TestParamInfo<std::string_view>& info) {
  return std::string(info.param);
}

std::size_t spare_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  std::size_t open = 0;
  if (DIR* const folder = opendir("/proc/self/fd")) {
    while (readdir(folder) != nullptr) ++open;
    closedir(folder);
  }
  return limit.rlim_cur - open;
}

}  // namespace leantea::test

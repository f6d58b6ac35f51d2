#include "server_process.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <string>

#include <leantea/leantea.hpp>

namespace leantea::test {
namespace {

/// In the new process: serves until nobody holds the lifeline any more.
[[noreturn]] void serve(std::string_view backend, unsigned descriptors, int tell, int lifeline) {
  const rlimit limit{.rlim_cur = descriptors, .rlim_max = descriptors};
  setrlimit(RLIMIT_NOFILE, &limit);
  Router app;
  app.get("/health", [](const Request&) { return Response::text("OK"); });
  Server server(std::move(app),
                {.port = 0, .backend = std::string(backend), .log = [](std::string_view) {}});
  const std::uint16_t port = server.start() ? server.port() : 0;
  if (write(tell, &port, sizeof port) != sizeof port) _exit(1);
  char end = 0;
  while (read(lifeline, &end, 1) > 0) {
  }
  server.stop();
  _exit(0);
}

}  // namespace

ServerProcess::ServerProcess(std::string_view backend, unsigned descriptors) {
  int tell[2];
  int lifeline[2];
  if (pipe2(tell, O_CLOEXEC) != 0 || pipe2(lifeline, O_CLOEXEC) != 0) return;
  pid_ = fork();
  if (pid_ == 0) {
    close(tell[0]);
    close(lifeline[1]);
    serve(backend, descriptors, tell[1], lifeline[0]);
  }
  close(tell[1]);
  close(lifeline[0]);
  lifeline_ = lifeline[1];
  if (read(tell[0], &port_, sizeof port_) != sizeof port_) port_ = 0;
  close(tell[0]);
}

ServerProcess::~ServerProcess() {
  close(lifeline_);
  waitpid(pid_, nullptr, 0);
}

std::chrono::milliseconds ServerProcess::cpu_time() const {
  clockid_t clock{};
  timespec used{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0) return {};
  return std::chrono::seconds(used.tv_sec) + std::chrono::duration_cast<std::chrono::milliseconds>(
                                                 std::chrono::nanoseconds(used.tv_nsec));
}

}  // namespace leantea::test

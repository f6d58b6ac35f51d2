// Reactor: the backend on readiness, epoll or kqueue. N loops on N threads, each with its own engine,
// poller and listeners; connections stay on the loop they begin on.
//
// Threads: as backend.hpp says.
#pragma once

#include <thread>
#include <vector>

#include "net/backend.hpp"
#include "net/reactor/loop.hpp"

namespace leantea::net {

class Reactor final : public Backend {
 public:
  Reactor(app::ServerShared& shared, const BackendOptions& options);
  ~Reactor() override;
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  std::expected<void, std::string> start(std::vector<std::vector<Listener>> listeners) override;
  void drain(std::chrono::milliseconds deadline) override;
  void join() override;
  std::string_view name() const noexcept override { return "reactor"; }

 private:
  app::ServerShared& shared_;
  const BackendOptions options_;
  LoopGroup group_;                   // constant after start()
  std::vector<std::thread> threads_;  // the owner's thread
};

std::unique_ptr<Backend> make_reactor(app::ServerShared& shared, const BackendOptions& options);

}  // namespace leantea::net

// Threads: the backend with blocking sockets. A thread serves a connection from its first byte to its last;
// N accept workers, each with its own listeners, hand new connections to a bounded crew of such threads.
//
// Read serve.cpp first: it is the whole way of one connection.
//
// Threads: as backend.hpp says.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "net/backend.hpp"
#include "net/threads/accept_worker.hpp"
#include "net/threads/crew.hpp"

namespace leantea::net {

class Threads final : public Backend {
 public:
  Threads(app::ServerShared& shared, const BackendOptions& options);
  ~Threads() override;
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  std::expected<void, std::string> start(std::vector<std::vector<Listener>> listeners) override;
  void drain(std::chrono::milliseconds deadline) override;
  void join() override;
  std::string_view name() const noexcept override { return "threads"; }

 private:
  app::ServerShared& shared_;
  const BackendOptions options_;
  threads::Crew crew_;
  std::vector<std::unique_ptr<threads::AcceptWorker>> workers_;  // constant after start()
  std::vector<std::thread> threads_;  // the owner's thread; of the workers
};

std::unique_ptr<Backend> make_threads(app::ServerShared& shared, const BackendOptions& options);

}  // namespace leantea::net

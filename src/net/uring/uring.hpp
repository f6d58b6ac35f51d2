// Uring: the backend on io_uring. N loops on N threads, each with its own engine, ring and listeners;
// connections stay on the loop they begin on.
//
// Threads: as backend.hpp says. uring_available(): any thread.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "net/backend.hpp"
#include "net/uring/loop.hpp"

namespace leantea::net {

class Uring final : public Backend {
 public:
  Uring(app::ServerShared& shared, const BackendOptions& options);
  ~Uring() override;
  Uring(const Uring&) = delete;
  Uring& operator=(const Uring&) = delete;

  std::expected<void, std::string> start(std::vector<std::vector<Listener>> listeners) override;
  void drain(std::chrono::milliseconds deadline) override;
  void join() override;
  std::string_view name() const noexcept override { return "uring"; }

 private:
  app::ServerShared& shared_;
  const BackendOptions options_;
  uring::LoopGroup group_;            // constant after start()
  std::vector<std::thread> threads_;  // the owner's thread
};

std::unique_ptr<Backend> make_uring(app::ServerShared& shared, const BackendOptions& options);

/// Nothing where this process may use io_uring and the kernel has all that the backend needs (Linux 6.1);
/// else one line that names the reason. Tries it out: some system calls, well under a millisecond.
std::expected<void, std::string> uring_available();

}  // namespace leantea::net

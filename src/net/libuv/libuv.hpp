// Libuv: the backend on libuv's loop. N loops on N threads, each with its own engine and listeners;
// connections stay on the loop they begin on.
//
// Threads: as backend.hpp says.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "net/backend.hpp"
#include "net/libuv/loop.hpp"

namespace leantea::net {

class Libuv final : public Backend {
 public:
  Libuv(app::ServerShared& shared, const BackendOptions& options);
  ~Libuv() override;
  Libuv(const Libuv&) = delete;
  Libuv& operator=(const Libuv&) = delete;

  std::expected<void, std::string> start(std::vector<std::vector<Listener>> listeners) override;
  void drain(std::chrono::milliseconds deadline) override;
  void join() override;
  std::string_view name() const noexcept override { return "libuv"; }

 private:
  app::ServerShared& shared_;
  const BackendOptions options_;
  libuv::LoopGroup group_;            // constant after start()
  std::vector<std::thread> threads_;  // the owner's thread
};

std::unique_ptr<Backend> make_libuv(app::ServerShared& shared, const BackendOptions& options);

}  // namespace leantea::net

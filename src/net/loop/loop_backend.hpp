// LoopBackend: a backend of N event loops on N threads, each with its own engine and listeners; connections stay
// on the loop that takes them.
//
// Threads: as backend.hpp says.
#pragma once

#include <chrono>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "net/backend.hpp"
#include "net/loop/event_loop.hpp"

namespace leantea::net {

template <class Loop>
std::unique_ptr<EventLoop> make_loop(app::ServerShared& shared, EventLoop::Group& group) {
  return std::make_unique<Loop>(shared, group);
}

class LoopBackend final : public Backend {
 public:
  /// make_loop() of one kind.
  using MakeLoop = std::unique_ptr<EventLoop> (*)(app::ServerShared&, EventLoop::Group&);

  /// REQUIRES: `name` has static storage.
  LoopBackend(std::string_view name, MakeLoop make_loop, app::ServerShared& shared,
              const BackendOptions& options);
  ~LoopBackend() override;
  LoopBackend(const LoopBackend&) = delete;
  LoopBackend& operator=(const LoopBackend&) = delete;

  std::expected<void, std::string> start(std::vector<std::vector<Listener>> listeners) override;
  void drain(std::chrono::milliseconds deadline) override;
  void join() override;
  std::string_view name() const noexcept override { return name_; }

 private:
  const std::string_view name_;
  const MakeLoop make_loop_;
  app::ServerShared& shared_;
  const BackendOptions options_;
  EventLoop::Group group_;            // constant after start()
  std::vector<std::thread> threads_;  // the owner's thread
};

}  // namespace leantea::net

#include "net/uring/uring.hpp"

#include <future>
#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "net/blocked_signals.hpp"
#include "net/clock.hpp"

namespace leantea::net {

Uring::Uring(app::ServerShared& shared, const BackendOptions& options)
    : shared_(shared), options_(options) {
  LEANTEA_ASSERT(options.loops >= 1);
}

Uring::~Uring() {
  drain(std::chrono::milliseconds::zero());
  join();
}

std::expected<void, std::string> Uring::start(std::vector<std::vector<Listener>> listeners) {
  LEANTEA_ASSERT(listeners.size() == options_.loops && group_.loops.empty());
  for (unsigned i = 0; i < options_.loops; ++i) {
    group_.loops.push_back(std::make_unique<uring::Loop>(shared_, group_, i));
    if (auto opened = group_.loops.back()->open(std::move(listeners[i])); !opened) return opened;
  }
  std::vector<std::future<uring::Loop::Opened>> outcomes;
  const BlockedSignals blocked;
  try {
    for (const auto& loop : group_.loops) {
      std::promise<uring::Loop::Opened> opened;
      outcomes.push_back(opened.get_future());
      threads_.emplace_back([&loop](auto told) { loop->run(std::move(told)); }, std::move(opened));
    }
  } catch (const std::system_error& error) {
    // The destructor ends the threads that did start.
    return std::unexpected(std::string("cannot start a thread: ") + error.what());
  }
  for (auto& outcome : outcomes) {
    if (auto opened = outcome.get(); !opened) return opened;
  }
  return {};
}

void Uring::drain(std::chrono::milliseconds deadline) {
  const base::Millis until = Clock::monotonic_ms() + deadline.count();
  for (const auto& loop : group_.loops) loop->drain(until);
}

void Uring::join() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::unique_ptr<Backend> make_uring(app::ServerShared& shared, const BackendOptions& options) {
  return std::make_unique<Uring>(shared, options);
}

std::expected<void, std::string> uring_available() { return uring::Ring::available(); }

}  // namespace leantea::net

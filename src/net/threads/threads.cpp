#include "net/threads/threads.hpp"

#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "net/blocked_signals.hpp"
#include "net/clock.hpp"

namespace leantea::net {

Threads::Threads(app::ServerShared& shared, const BackendOptions& options)
    : shared_(shared), options_(options), crew_(shared, options.max_connection_threads) {
  LEANTEA_ASSERT(options.loops >= 1);
}

Threads::~Threads() {
  drain(std::chrono::milliseconds::zero());
  join();
}

std::expected<void, std::string> Threads::start(std::vector<std::vector<Listener>> listeners) {
  LEANTEA_ASSERT(listeners.size() == options_.loops && workers_.empty());
  for (unsigned i = 0; i < options_.loops; ++i) {
    workers_.push_back(std::make_unique<threads::AcceptWorker>(shared_, crew_, i));
    if (auto opened = workers_.back()->open(std::move(listeners[i])); !opened) return opened;
  }
  crew_.on_room([this] {
    for (const auto& worker : workers_) worker->room_made();
  });
  const BlockedSignals blocked;
  try {
    for (const auto& worker : workers_) threads_.emplace_back([&worker] { worker->run(); });
  } catch (const std::system_error& error) {
    // The destructor ends the threads that did start.
    return std::unexpected(std::string("cannot start a thread: ") + error.what());
  }
  return {};
}

void Threads::drain(std::chrono::milliseconds deadline) {
  const base::Millis until = Clock::monotonic_ms() + deadline.count();
  crew_.drain(until);
  for (const auto& worker : workers_) worker->drain(until);
}

void Threads::join() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  // No worker gives the crew anything any more: it ends when its last connection has.
  crew_.end();
}

std::unique_ptr<Backend> make_threads(app::ServerShared& shared, const BackendOptions& options) {
  return std::make_unique<Threads>(shared, options);
}

}  // namespace leantea::net

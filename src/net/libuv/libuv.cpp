#include "net/libuv/libuv.hpp"

#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "net/blocked_signals.hpp"
#include "net/clock.hpp"

namespace leantea::net {

Libuv::Libuv(app::ServerShared& shared, const BackendOptions& options)
    : shared_(shared), options_(options) {
  LEANTEA_ASSERT(options.loops >= 1);
}

Libuv::~Libuv() {
  drain(std::chrono::milliseconds::zero());
  join();
}

std::expected<void, std::string> Libuv::start(std::vector<std::vector<Listener>> listeners) {
  LEANTEA_ASSERT(listeners.size() == options_.loops && group_.loops.empty());
  for (unsigned i = 0; i < options_.loops; ++i) {
    group_.loops.push_back(std::make_unique<libuv::Loop>(shared_, group_, i));
    if (auto opened = group_.loops.back()->open(std::move(listeners[i])); !opened) return opened;
  }
  const BlockedSignals blocked;
  try {
    for (const auto& loop : group_.loops) threads_.emplace_back([&loop] { loop->run(); });
  } catch (const std::system_error& error) {
    // The destructor ends the threads that did start.
    return std::unexpected(std::string("cannot start a thread: ") + error.what());
  }
  return {};
}

void Libuv::drain(std::chrono::milliseconds deadline) {
  const base::Millis until = Clock::monotonic_ms() + deadline.count();
  for (const auto& loop : group_.loops) loop->drain(until);
}

void Libuv::join() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::unique_ptr<Backend> make_libuv(app::ServerShared& shared, const BackendOptions& options) {
  return std::make_unique<Libuv>(shared, options);
}

}  // namespace leantea::net

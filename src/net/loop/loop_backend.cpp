#include "net/loop/loop_backend.hpp"

#include <functional>
#include <future>
#include <string>
#include <system_error>
#include <utility>

#include "base/assert.hpp"
#include "net/blocked_signals.hpp"
#include "net/clock.hpp"
#include "net/thread_name.hpp"

namespace leantea::net {
namespace {

using Told = std::promise<EventLoop::Outcome>;

/// A loop's thread.
void serve(EventLoop& loop, unsigned index, Told told) {
  name_this_thread("leantea/" + std::to_string(index));
  EventLoop::Outcome begun = loop.begin();
  const bool serves = begun.has_value();
  told.set_value(std::move(begun));
  if (serves) loop.run();
}

}  // namespace

LoopBackend::LoopBackend(std::string_view name, MakeLoop make_loop, app::ServerShared& shared,
                         const BackendOptions& options)
    : name_(name), make_loop_(make_loop), shared_(shared), options_(options) {
  LEANTEA_ASSERT(options.loops >= 1);
}

LoopBackend::~LoopBackend() {
  drain(std::chrono::milliseconds::zero());
  join();
}

std::expected<void, std::string> LoopBackend::start(std::vector<std::vector<Listener>> listeners) {
  LEANTEA_ASSERT(listeners.size() == options_.loops && group_.loops.empty());
  for (auto& own : listeners) {
    group_.loops.push_back(make_loop_(shared_, group_));
    if (auto opened = group_.loops.back()->open(std::move(own)); !opened) return opened;
  }
  const BlockedSignals blocked;
  std::vector<std::future<EventLoop::Outcome>> outcomes;
  try {
    for (unsigned i = 0; i < options_.loops; ++i) {
      Told told;
      outcomes.push_back(told.get_future());
      threads_.emplace_back(&serve, std::ref(*group_.loops[i]), i, std::move(told));
    }
  } catch (const std::system_error& error) {
    // The destructor ends the threads that did start.
    return std::unexpected(std::string("cannot start a thread: ") + error.what());
  }
  for (auto& outcome : outcomes) {
    if (auto begun = outcome.get(); !begun) return begun;
  }
  return {};
}

void LoopBackend::drain(std::chrono::milliseconds deadline) {
  const base::Millis until = Clock::monotonic_ms() + deadline.count();
  for (const auto& loop : group_.loops) loop->drain(until);
}

void LoopBackend::join() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace leantea::net

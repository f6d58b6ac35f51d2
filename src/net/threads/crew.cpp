#include "net/threads/crew.hpp"

#include <utility>

#include "base/assert.hpp"

namespace leantea::net::threads {

Crew::Crew(app::ServerShared& shared, unsigned limit) : shared_(shared), limit_(limit) {
  LEANTEA_ASSERT(limit >= 1);
}

Crew::~Crew() { LEANTEA_ASSERT(threads_.empty()); }

Crew::Hired Crew::hire() {
  unsigned index = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!home_.empty()) {
      ConnectionThread* const thread = home_.back();
      home_.pop_back();
      return {.thread = thread};
    }
    if (count_ == limit_) {
      want_room();
      return {.shortage = Shortage::kAllBusy};
    }
    index = count_++;
  }
  ConnectionThread* const thread = start_thread(index);
  if (thread == nullptr) return {.shortage = Shortage::kCannotStart};
  return {.thread = thread};
}

/// Outside of the lock: it takes as long as several requests.
ConnectionThread* Crew::start_thread(unsigned index) {
  auto thread = std::make_unique<ConnectionThread>(shared_, *this);
  const bool started = thread->start(index);
  const std::lock_guard lock(mutex_);
  if (!started) {
    --count_;
    return nullptr;
  }
  return threads_.emplace_back(std::move(thread)).get();
}

void Crew::let_go(ConnectionThread& thread) {
  const std::lock_guard lock(mutex_);
  home_.push_back(&thread);
}

bool Crew::come_home(ConnectionThread& thread) {
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return false;
    home_.push_back(&thread);
  }
  if (room_wanted_.exchange(false)) on_room_();
  return true;
}

void Crew::drain(base::Millis deadline) {
  base::Millis before = drain_until_.load();
  while (deadline < before && !drain_until_.compare_exchange_weak(before, deadline)) {
  }
  const std::lock_guard lock(mutex_);
  for (const auto& thread : threads_) thread->drain();
}

void Crew::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    for (ConnectionThread* const thread : home_) thread->dismiss();
    home_.clear();
  }
  for (const auto& thread : threads_) thread->join();
  threads_.clear();
}

}  // namespace leantea::net::threads

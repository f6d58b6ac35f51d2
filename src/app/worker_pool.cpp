#include "app/worker_pool.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

namespace leantea::app {

WorkerPool::WorkerPool(unsigned threads, OnStart on_start)
    : limit_(threads != 0 ? threads : std::max(1u, std::thread::hardware_concurrency())),
      on_start_(std::move(on_start)) {}

WorkerPool::~WorkerPool() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::submit(WorkItem& item) {
  {
    const std::scoped_lock lock(mutex_);
    // An idle thread may have been woken for a job before this one, so counting both is needed.
    const bool busy = queued_ >= idle_;
    if (busy && threads_.size() < limit_ && !ending_) start_thread();
    if (!threads_.empty()) {
      push(item);
      wake_.notify_one();
      return;
    }
  }
  item.run();
}

/// REQUIRES: mutex_ is held.
void WorkerPool::start_thread() {
  try {
    threads_.emplace_back([this, index = static_cast<unsigned>(threads_.size())] { work(index); });
  } catch (const std::system_error&) {  // NOLINT(bugprone-empty-catch)
    // The system has no thread to give now: those that are there do the work.
  }
}

void WorkerPool::push(WorkItem& item) noexcept {
  item.next = nullptr;
  (last_ != nullptr ? last_->next : first_) = &item;
  last_ = &item;
  ++queued_;
}

WorkItem& WorkerPool::pop() noexcept {
  WorkItem& item = *first_;
  first_ = item.next;
  if (first_ == nullptr) last_ = nullptr;
  --queued_;
  return item;
}

void WorkerPool::work(unsigned index) {
  if (on_start_) on_start_(index);
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return first_ != nullptr || ending_; });
    --idle_;
    if (first_ == nullptr) return;
    WorkItem& item = pop();
    lock.unlock();
    item.run();
    lock.lock();
  }
}

}  // namespace leantea::app

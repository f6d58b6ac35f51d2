// WorkerPool: the threads that run what handlers offload, away from the loops.
//
// submit() from any thread. The queue is intrusive and needs no bound of its own: each job belongs to a
// request in progress, and those are bounded. Threads start when jobs wait and all others are busy, so a
// server that offloads nothing has none. They inherit the signal mask of the thread that submits: loops
// block all signals, and so do their workers.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace leantea::app {

/// A job in the queue. Its owner keeps it alive until run() has returned.
struct WorkItem {
  WorkItem* next = nullptr;
  /// On a worker thread. What happens to the item after run() begins is run()'s business: it is not
  /// touched any more.
  virtual void run() noexcept = 0;

 protected:
  ~WorkItem() = default;
};

class WorkerPool {
 public:
  /// What every worker does first, to get a name for example; called with 0, 1, 2, …
  using OnStart = std::function<void(unsigned index)>;

  /// `threads` 0: one per processor.
  explicit WorkerPool(unsigned threads, OnStart on_start = {});
  /// Runs what is queued, then joins. REQUIRES: nobody submits any more, but for the jobs themselves.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Runs the item on a worker, after those submitted before it. Where the system gives the pool not
  /// even one thread, it is run here, before this returns: slow, but nobody waits for ever.
  void submit(WorkItem& item);

 private:
  void start_thread();
  void push(WorkItem& item) noexcept;
  WorkItem& pop() noexcept;
  void work(unsigned index);

  const unsigned limit_;
  const OnStart on_start_;
  std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_.
  WorkItem* first_ = nullptr;
  WorkItem* last_ = nullptr;
  std::size_t queued_ = 0;
  std::size_t idle_ = 0;  ///< threads that wait, or were woken and have not taken their job yet
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace leantea::app

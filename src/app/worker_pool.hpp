// WorkerPool: the threads that run what handlers offload, away from the loops.
//
// submit() from any thread. The queue is intrusive and needs no bound of its own: each job belongs to a
// request in progress, and those are bounded. Threads start with the first job, so a server that
// offloads nothing has none.
#pragma once

#include <condition_variable>
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
  /// `threads` 0: one per processor.
  explicit WorkerPool(unsigned threads);
  /// Runs what is queued, then joins.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void submit(WorkItem& item);

 private:
  void work();

  const unsigned limit_;
  std::mutex mutex_;
  std::condition_variable wake_;
  // Guarded by mutex_.
  WorkItem* first_ = nullptr;
  WorkItem* last_ = nullptr;
  unsigned idle_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace leantea::app

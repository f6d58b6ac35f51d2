#include "app/worker_pool.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <iterator>
#include <latch>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace leantea::app {
namespace {

struct Job final : WorkItem {
  explicit Job(std::function<void()> from) : function(std::move(from)) {}
  void run() noexcept override { function(); }
  std::function<void()> function;
};

TEST(WorkerPool, StartsNoThreadForNothing) {
  std::atomic<int> started{0};
  {
    const WorkerPool pool(4, [&started](unsigned) { ++started; });
  }
  EXPECT_EQ(started, 0);
}

TEST(WorkerPool, RunsJobsInOrderOnOneThread) {
  std::string order;
  std::list<Job> jobs;
  for (const char letter : {'a', 'b', 'c', 'd'})
    jobs.emplace_back([&order, letter] { order += letter; });
  {
    WorkerPool pool(1);
    for (Job& job : jobs) pool.submit(job);
  }
  EXPECT_EQ(order, "abcd");
}

TEST(WorkerPool, RunsWhatIsQueuedBeforeItEnds) {
  std::atomic<int> done{0};
  std::list<Job> jobs;
  for (int i = 0; i < 1000; ++i) jobs.emplace_back([&done] { ++done; });
  {
    WorkerPool pool(3);
    for (Job& job : jobs) pool.submit(job);
  }
  EXPECT_EQ(done, 1000);
}

TEST(WorkerPool, StartsThreadsAsJobsWaitUpToItsLimit) {
  std::mutex mutex;
  std::set<unsigned> started;
  std::latch all_run(3);
  std::list<Job> jobs;
  for (int i = 0; i < 3; ++i) jobs.emplace_back([&all_run] { all_run.arrive_and_wait(); });
  std::atomic<int> more{0};
  for (int i = 0; i < 50; ++i) jobs.emplace_back([&more] { ++more; });
  {
    WorkerPool pool(3, [&](unsigned index) {
      const std::scoped_lock lock(mutex);
      started.insert(index);
    });
    // The first three run at once or never.
    for (Job& job : jobs) pool.submit(job);
  }
  EXPECT_EQ(started, (std::set<unsigned>{0, 1, 2}));
  EXPECT_EQ(more, 50);
}

TEST(WorkerPool, AnIdleThreadIsUsedAgain) {
  std::atomic<int> started{0};
  WorkerPool pool(8, [&started](unsigned) { ++started; });
  for (int i = 0; i < 20; ++i) {
    std::latch done(1);
    Job job([&done] { done.count_down(); });
    pool.submit(job);
    done.wait();
    // It says that it is done before it waits again.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_LE(started, 4);
}

TEST(WorkerPool, AJobMayEndItsOwnLife) {
  std::atomic<int> done{0};
  struct Owned final : WorkItem {
    explicit Owned(std::atomic<int>& counter) : done(counter) {}
    void run() noexcept override {
      std::atomic<int>& counter = done;
      delete this;
      ++counter;
    }
    std::atomic<int>& done;
  };
  {
    WorkerPool pool(2);
    for (int i = 0; i < 100; ++i) pool.submit(*std::make_unique<Owned>(done).release());
  }
  EXPECT_EQ(done, 100);
}

TEST(WorkerPool, TakesJobsFromManyThreadsAndFromJobs) {
  std::atomic<int> done{0};
  std::list<Job> seconds;
  std::list<Job> firsts;
  {
    WorkerPool pool(4);
    for (int i = 0; i < 400; ++i) {
      Job& second = seconds.emplace_back([&done] { ++done; });
      firsts.emplace_back([&pool, &second] { pool.submit(second); });
    }
    std::vector<std::thread> submitters;
    auto job = firsts.begin();
    for (int t = 0; t < 4; ++t) {
      submitters.emplace_back([&pool, from = job] {
        auto at = from;
        for (int i = 0; i < 100; ++i) pool.submit(*at++);
      });
      std::advance(job, 100);
    }
    for (std::thread& thread : submitters) thread.join();
  }
  EXPECT_EQ(done, 400);
}

TEST(WorkerPool, ZeroThreadsMeansOnePerProcessor) {
  std::latch done(1);
  Job job([&done] { done.count_down(); });
  WorkerPool pool(0);
  pool.submit(job);
  done.wait();
}

}  // namespace
}  // namespace leantea::app

#include "base/mailbox.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace leantea::base {
namespace {

struct Letter final : MailItem {
  explicit Letter(int number, std::vector<int>* to = nullptr) : n(number), out(to) {}
  void deliver() override { out->push_back(n); }
  int n;
  std::vector<int>* out;
};

TEST(Mailbox, ReturnsItemsInTheOrderOfPosting) {
  Mailbox box;
  std::vector<int> delivered;
  Letter a(1, &delivered), b(2, &delivered), c(3, &delivered);
  for (Letter* letter : {&a, &b, &c}) static_cast<void>(box.post(*letter));
  for (MailItem* item = box.take_all(); item != nullptr; item = item->next) item->deliver();
  EXPECT_EQ(delivered, (std::vector{1, 2, 3}));
}

TEST(Mailbox, OnlyTheFirstPosterWakesTheLoop) {
  Mailbox box;
  Letter a(1), b(2), c(3);
  EXPECT_EQ(box.take_all(), nullptr);
  EXPECT_TRUE(box.post(a));
  EXPECT_FALSE(box.post(b));
  EXPECT_EQ(box.take_all(), &a);
  EXPECT_EQ(a.next, &b);
  EXPECT_EQ(b.next, nullptr);
  EXPECT_EQ(box.take_all(), nullptr);
  EXPECT_TRUE(box.post(c));
  EXPECT_EQ(box.take_all(), &c);
}

// Many threads post, the loop sleeps until it is woken. Nothing is lost, nothing comes twice, the
// items of one thread come in its order, and what it wrote into them is seen. If the return value of
// post() were wrong once, this test would hang.
TEST(Mailbox, TakesFromManyThreads) {
  static constexpr int kThreads = 4;
  static constexpr int kItems = 20'000;

  struct Numbered final : MailItem {
    void deliver() override {
      EXPECT_EQ(number, next_of_thread[thread]);
      next_of_thread[thread] = number + 1;
      ++*delivered;
    }
    std::size_t thread = 0;
    int number = 0;
    int* next_of_thread = nullptr;
    int* delivered = nullptr;
  };

  Mailbox box;
  std::binary_semaphore wakeup{0};
  // As an eventfd: waking a loop that is awake already is fine.
  std::atomic<bool> woken{false};
  int next_of_thread[kThreads] = {};
  int delivered = 0;

  std::vector<std::jthread> posters;
  posters.reserve(kThreads);
  for (std::size_t t = 0; t < kThreads; ++t) {
    posters.emplace_back([&, t] {
      for (int i = 0; i < kItems; ++i) {
        auto* item = new Numbered;  // deleted by the loop, perhaps before post() returns
        item->thread = t;
        item->number = i;
        item->next_of_thread = next_of_thread;
        item->delivered = &delivered;
        if (box.post(*item) && !woken.exchange(true)) wakeup.release();
      }
    });
  }
  while (delivered < kThreads * kItems) {
    wakeup.acquire();
    woken.store(false);
    for (MailItem* item = box.take_all(); item != nullptr;) {
      std::unique_ptr<Numbered> owned(static_cast<Numbered*>(item));
      item = item->next;
      owned->deliver();
    }
  }
  for (const int next : next_of_thread) EXPECT_EQ(next, kItems);
}

}  // namespace
}  // namespace leantea::base

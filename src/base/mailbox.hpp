// Mailbox: how other threads hand work back to the thread of a loop.
//
// post() from any thread, without a lock; take_all() from the one thread that owns the mailbox. Items
// are intrusive: the mailbox allocates nothing and owns nothing. What a poster wrote before post() is
// seen by the owner after the take_all() that returned the item.
#pragma once

#include <atomic>

namespace leantea::base {

/// What is posted. Whoever posts it keeps it alive until deliver() is called.
struct MailItem {
  MailItem* next = nullptr;  ///< the mailbox's while posted, then the list's of take_all()
  /// On the loop's thread, by whoever called take_all(). May destroy the item: read `next` before.
  virtual void deliver() = 0;

 protected:
  ~MailItem() = default;
};

class Mailbox {
 public:
  Mailbox() noexcept = default;
  /// Items that are still inside are forgotten.
  ~Mailbox() = default;
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Any thread. Puts `item` in; true when the mailbox was empty: the poster must then wake the loop
  /// (all who post before the loop's next take_all() share that one call).
  /// REQUIRES: `item` is in no mailbox.
  [[nodiscard]] bool post(MailItem& item) noexcept;

  /// The owner's thread. Takes all items, linked by `next` in the order in which they were posted
  /// (items of one thread in its order); null when there are none, which costs one load.
  MailItem* take_all() noexcept;

 private:
  // A stack that is only pushed to, or taken whole: a node cannot leave and come back between the
  // load and the exchange of a push with the rest of the stack changed below it, so there is no ABA.
  //
  // On a cache line of its own: other threads write it while the loop uses what lies around.
  alignas(64) std::atomic<MailItem*> last_{nullptr};
};

}  // namespace leantea::base

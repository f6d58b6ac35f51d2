#include "base/mailbox.hpp"

namespace leantea::base {

bool Mailbox::post(MailItem& item) noexcept {
  MailItem* last = last_.load(std::memory_order_relaxed);
  do {
    item.next = last;
    // Release: `next`, and all that the poster wrote into the item, is seen by the acquire of
    // take_all(), also when others push in between (their exchanges continue the release sequence).
  } while (!last_.compare_exchange_weak(last, &item, std::memory_order_release,
                                        std::memory_order_relaxed));
  // `item` is not touched any more: the loop may have delivered and destroyed it.
  return last == nullptr;
}

MailItem* Mailbox::take_all() noexcept {
  // Most turns of a loop find nothing; a load does not fight for the cache line as an exchange does.
  // A post that this load is too early for found the mailbox empty and wakes the loop.
  if (last_.load(std::memory_order_relaxed) == nullptr) return nullptr;
  MailItem* item = last_.exchange(nullptr, std::memory_order_acquire);
  MailItem* first = nullptr;
  while (item != nullptr) {
    MailItem* before = item->next;
    item->next = first;
    first = item;
    item = before;
  }
  return first;
}

}  // namespace leantea::base

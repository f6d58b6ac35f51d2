#include "base/timer_wheel.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.hpp"

namespace leantea::base {

TimerWheel::TimerWheel(Millis now) noexcept : now_(now) { LEANTEA_ASSERT(now >= 0); }

void TimerWheel::set(TimerNode& node, Millis due) noexcept {
  if (node.is_set()) unlink(node);
  node.due = due;
  place(node);
}

void TimerWheel::cancel(TimerNode& node) noexcept {
  if (!node.is_set()) return;
  unlink(node);
  node.next = nullptr;
  node.link = nullptr;
}

void TimerWheel::place(TimerNode& node) noexcept {
  const Millis time = std::max(node.due, now_);
  // The highest bit in which the time differs from now says on which wheel their slots differ.
  const auto differs = static_cast<std::uint64_t>(time ^ now_) | (kSlots - 1);
  const int level = std::min((63 - std::countl_zero(differs)) / kSlotBits, kLevels - 1);
  Millis slots = time >> (level * kSlotBits);
  // Only the top wheel may run into its next turn; its slot of now_ would be a whole turn early.
  if (level == kLevels - 1) slots = std::min(slots, (now_ >> (level * kSlotBits)) + kSlots - 1);
  const auto slot = static_cast<int>(slots & (kSlots - 1));

  TimerNode*& first = slots_[index_of(level, slot)];
  node.next = first;
  node.link = &first;
  if (first != nullptr) first->link = &node.next;
  first = &node;
  occupied_[static_cast<std::size_t>(level)] |= std::uint64_t{1} << slot;
}

void TimerWheel::unlink(TimerNode& node) noexcept {
  *node.link = node.next;
  if (node.next != nullptr) {
    node.next->link = node.link;
    return;
  }
  // The last of its list. When it was the first too, its slot is empty now (invariant 4).
  if (due_end_ == &node.next) due_end_ = node.link;
  const auto offset =
      reinterpret_cast<std::uintptr_t>(node.link) - reinterpret_cast<std::uintptr_t>(slots_.data());
  const std::size_t index = offset / sizeof(void*);
  if (index < slots_.size()) {
    occupied_[index / kSlots] &= ~(std::uint64_t{1} << index % kSlots);
  }
}

TimerNode* TimerWheel::take_slot(int level, int slot) noexcept {
  occupied_[static_cast<std::size_t>(level)] &= ~(std::uint64_t{1} << slot);
  return std::exchange(slots_[index_of(level, slot)], nullptr);
}

bool TimerWheel::nothing_in_slots() const noexcept {
  std::uint64_t all = 0;
  for (const std::uint64_t wheel : occupied_) all |= wheel;
  return all == 0;
}

TimerWheel::Place TimerWheel::first_occupied() const noexcept {
  int level = 0;
  while (occupied_[static_cast<std::size_t>(level)] == 0) ++level;  // invariant 3
  // Counted from the slot of now_, which on the top wheel is where the next turn ends.
  const int shift = level * kSlotBits;
  const Millis present = now_ >> shift;
  const int ahead = std::countr_zero(std::rotr(occupied_[static_cast<std::size_t>(level)],
                                               static_cast<int>(present & (kSlots - 1))));
  const Millis slot = present + ahead;
  return {.level = level, .slot = static_cast<int>(slot & (kSlots - 1)), .begin = slot << shift};
}

void TimerWheel::turn_to(Millis now) noexcept {
  LEANTEA_ASSERT(now >= now_);
  // From occupied slot to occupied slot: empty stretches cost nothing, however long.
  while (!nothing_in_slots()) {
    const Place first = first_occupied();
    if (first.begin > now) break;
    now_ = first.begin;
    TimerNode* node = take_slot(first.level, first.slot);
    if (first.level == 0) {
      *due_end_ = node;
      node->link = due_end_;
      while (node->next != nullptr) node = node->next;
      due_end_ = &node->next;
    } else {
      while (node != nullptr) place(*std::exchange(node, node->next));
    }
  }
  now_ = now;
}

TimerNode* TimerWheel::take_due() noexcept {
  TimerNode* node = due_;
  if (node != nullptr) cancel(*node);
  return node;
}

TimerNode* TimerWheel::advance(Millis now) noexcept {
  turn_to(now);
  TimerNode* list = std::exchange(due_, nullptr);
  due_end_ = &due_;
  for (TimerNode* node = list; node != nullptr; node = node->next) node->link = nullptr;
  return list;
}

Millis TimerWheel::next_due() const noexcept {
  if (due_ != nullptr) return now_;
  return nothing_in_slots() ? -1 : first_occupied().begin;
}

}  // namespace leantea::base

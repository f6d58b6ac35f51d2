// TimerWheel: deadlines in milliseconds for the connections of one loop.
//
// One thread; no locks, no clock of its own: the caller says what time it is. Setting, moving and
// cancelling a timer are O(1); a timer is an intrusive node inside its owner, so the wheel allocates
// nothing. Timers never fire early; they fire at the first advance() at or after their time.
//
// Five wheels of 64 slots, each slot of a wheel as long as a whole turn of the wheel below: 1 ms,
// 64 ms, 4 s, 4.4 min, 4.7 h; all together 12 days. A timer lies on the lowest wheel on which it does
// not share a slot with the present, and goes down a wheel or more when the present reaches its slot.
// Invariants, with slot(t, w) the slot of wheel w for time t:
//  1. a node on wheel 0 lies in the slot of its time, or in the one of now_ when that is past;
//  2. a node on wheel w > 0 lies in a slot that begins after now_ and not after the node's time;
//  3. below the top wheel all occupied slots lie ahead of now_ in the same turn, so that every node
//     on a wheel is earlier than every node on a higher one;
//  4. a bit of occupied_ is set exactly where a slot has a node.
// A time farther off than the top wheel lies in its last slot and is placed anew from there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace leantea::base {

/// Milliseconds on a clock that never goes back. Its zero has no meaning. Not negative.
using Millis = std::int64_t;

/// The node of one timer. Its owner holds it; it may not move while it is set, and is cancelled
/// before it is destroyed.
struct TimerNode {
  TimerNode* next = nullptr;
  TimerNode** link = nullptr;  ///< what points at this node; null when not set
  Millis due = 0;

  bool is_set() const noexcept { return link != nullptr; }
};

class TimerWheel {
 public:
  explicit TimerWheel(Millis now) noexcept;
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  /// Sets `node` to fire at `due`, which may lie in the past (it then fires at the next advance()).
  /// A node that is set is moved.
  void set(TimerNode& node, Millis due) noexcept;
  /// Takes `node` out. Does nothing when it is not set.
  void cancel(TimerNode& node) noexcept;

  /// Moves the wheel to `now` and returns a list (linked by `next`, earlier milliseconds first, any
  /// order within a millisecond) of the nodes whose time has come; they are not set any more
  /// (link == nullptr). Read `next` of a node before acting on it. The wheel does not know this list:
  /// where acting on one node may cancel, set or destroy another, use turn_to() and take_due().
  /// REQUIRES: now is not before the last one given.
  TimerNode* advance(Millis now) noexcept;

  /// Moves the wheel to `now` and keeps the nodes whose time has come for take_due(), where they
  /// are still set, and may be moved, cancelled and destroyed. REQUIRES: as for advance().
  void turn_to(Millis now) noexcept;
  /// The next node whose time had come at the last turn_to(), earlier milliseconds first, or null.
  /// It is not set any more. Nodes set since that turn_to() are not among them, so that a loop over
  /// take_due() ends.
  TimerNode* take_due() noexcept;

  /// A time before which nothing fires: how long a loop may sleep. -1 when no timer is set. May be
  /// earlier than the first timer, never later.
  Millis next_due() const noexcept;

 private:
  static constexpr int kLevels = 5;
  static constexpr int kSlotBits = 6;
  static constexpr int kSlots = 1 << kSlotBits;

  struct Place {
    int level;
    int slot;
    Millis begin;  ///< the first millisecond of the slot
  };
  static constexpr std::size_t index_of(int level, int slot) noexcept {
    return static_cast<std::size_t>(level) * kSlots + static_cast<std::size_t>(slot);
  }
  /// The earliest occupied slot. REQUIRES: there is one.
  Place first_occupied() const noexcept;
  bool nothing_in_slots() const noexcept;

  void place(TimerNode& node) noexcept;
  void unlink(TimerNode& node) noexcept;
  TimerNode* take_slot(int level, int slot) noexcept;

  Millis now_;
  std::array<std::uint64_t, kLevels> occupied_{};  ///< a bit per slot that holds a node
  std::array<TimerNode*, std::size_t{kLevels} * kSlots> slots_{};
  TimerNode* due_ = nullptr;     ///< nodes for take_due()
  TimerNode** due_end_ = &due_;  ///< the null pointer at their end
};

}  // namespace leantea::base

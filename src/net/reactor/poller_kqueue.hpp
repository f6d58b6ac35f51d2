// KqueuePoller: which descriptors are ready, on macOS and the BSDs. Level-triggered: what is not dealt
// with is told again, so no readiness is ever lost.
//
// One thread, but for wake(). Events are valid until the next wait(). Tags are pointers that the poller
// keeps and gives back; the null tag is its own (a wake-up).
//
// Where it is bent to the model of epoll: a descriptor has two filters here, one per direction, so a
// descriptor ready for both makes two events with one tag; and that a peer has ended its side is told by
// the read filter, which for kEnd alone gets a low-water mark that no amount of bytes reaches. So does the write
// filter for kNothing, which then tells only that the connection is broken.
#pragma once

#include <sys/types.h>
// After it: macOS and the BSDs want the types first.
#include <sys/event.h>

#include <array>
#include <expected>
#include <string>

#include "net/listener.hpp"
#include "net/readiness/interest.hpp"

namespace leantea::net::readiness {

class KqueuePoller {
 public:
  /// Whether a watched descriptor may be closed without remove().
  static constexpr bool kForgetsClosed = true;
  using Event = struct kevent;

  KqueuePoller() noexcept = default;
  KqueuePoller(const KqueuePoller&) = delete;
  KqueuePoller& operator=(const KqueuePoller&) = delete;

  /// Makes the kernel's objects. Once, before anything else.
  std::expected<void, std::string> open();

  /// Starts watching `fd`. Zero, or the errno value. REQUIRES: not watched, tag is not null.
  int add(int fd, Interest interest, void* tag) noexcept;
  /// Starts watching a listening socket. One that other loops have, too, wakes all of them.
  int add_listener(int fd, bool shared, void* tag) noexcept;
  /// Changes what is told about `fd`. Zero, or the errno value. REQUIRES: watched with `from`.
  int change(int fd, Interest from, Interest to, void* tag) noexcept;
  /// Stops watching.
  void remove(int fd) noexcept;

  /// Waits for events, at most `timeout_ms` (-1: for ever); how many there are.
  int wait(int timeout_ms) noexcept;
  /// Event `index` of the last wait(), in the order of the kernel.
  const Event& event(int index) const noexcept { return events_[static_cast<unsigned>(index)]; }

  static void* tag(const Event& event) noexcept { return event.udata; }
  static bool readable(const Event& event) noexcept { return event.filter == EVFILT_READ; }
  static bool writable(const Event& event) noexcept { return event.filter == EVFILT_WRITE; }
  /// The peer has ended its sending side.
  static bool ended(const Event& event) noexcept {
    return event.filter == EVFILT_READ && (event.flags & EV_EOF) != 0;
  }
  /// The connection is dead in both directions.
  static bool broken(const Event& event) noexcept {
    return (event.flags & EV_EOF) != 0 && (event.fflags != 0 || event.filter == EVFILT_WRITE);
  }

  /// Any thread: makes wait() return an event with the null tag, once per call or few calls.
  void wake() noexcept;

 private:
  /// Events taken at once. 256 requests at 5 µs are 1.3 ms: a turn that long keeps the time of the turn
  /// true to a few milliseconds, and spreads the cost of a wait so thin (3 ns a request) that more
  /// would gain nothing.
  static constexpr int kBatch = 256;

  Fd kqueue_;
  std::array<Event, kBatch> events_;
};

}  // namespace leantea::net::readiness

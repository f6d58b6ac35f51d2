// WakeEvent: something a thread can wait for with poll() beside its sockets, and other threads can set off.
//
// set() from any thread; open(), fd() and clear() are the waiting thread's.
#pragma once

#include <atomic>

#include "net/listener.hpp"

namespace leantea::net::threads {

class WakeEvent {
 public:
  WakeEvent() noexcept = default;
  WakeEvent(const WakeEvent&) = delete;
  WakeEvent& operator=(const WakeEvent&) = delete;

  /// Makes the kernel's object. Zero, or the errno value.
  int open() noexcept;
  /// Readable from set() to clear(). REQUIRES: open() has succeeded.
  int fd() const noexcept { return read_end_.get(); }
  /// Once until the next clear(), however often it is called: one system call.
  void set() noexcept;
  /// What was done before a set() that this call takes back is seen after it.
  void clear() noexcept;

 private:
  Fd read_end_;
  Fd write_end_;  ///< none where one descriptor does for both
  std::atomic<bool> set_{false};
};

}  // namespace leantea::net::threads

// LibuvPoller: which descriptors are ready, as libuv tells it. Level-triggered: what is not dealt with
// is told again, so no readiness is ever lost.
//
// One thread, but for wake(). Events are valid until the next wait(). Tags are pointers that the poller
// keeps and gives back; the null tag is its own (a wake-up, or an event of a descriptor that is not watched
// any more).
//
// Of libuv's two ways this is the one with uv_poll_t: libuv says what is ready, and accept, recv and send are
// the loop's. With its streams there would be a heap of write requests beside the output queue, no word of a
// client that leaves while its input is not wanted, and two more callbacks on the way of each request.
//
// Where it is bent to the model of epoll: its callbacks only note events, which the loop takes when uv_run() has
// returned; it tells nothing about a descriptor it watches for nothing, so UV_PRIORITIZED stands for that: with it
// an error or a hang-up is told (on Linux; elsewhere libuv tells of leaving clients only while they are read); it
// stops watching where there is an error, and is told to go on; and a handle lives until its close callback, so
// there is one on the heap for each watched descriptor (160 bytes and 24).
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <uv.h>

#include "net/readiness/interest.hpp"

namespace leantea::net::readiness {

class LibuvPoller {
  struct Watch;

 public:
  /// Whether a watched descriptor may be closed without remove().
  static constexpr bool kForgetsClosed = false;
  struct Event {
    void* tag = nullptr;
    int bits = 0;            ///< libuv's
    Watch* watch = nullptr;  ///< the poller's
  };

  LibuvPoller() noexcept = default;
  ~LibuvPoller();
  LibuvPoller(const LibuvPoller&) = delete;
  LibuvPoller& operator=(const LibuvPoller&) = delete;

  /// Makes libuv's objects. Once, before anything else.
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
  /// Event `index` of the last wait(), in the order of libuv.
  Event event(int index) const noexcept { return noted_[first_ + static_cast<unsigned>(index)]; }

  static void* tag(const Event& event) noexcept { return event.tag; }
  static bool readable(const Event& event) noexcept { return (event.bits & UV_READABLE) != 0; }
  static bool writable(const Event& event) noexcept { return (event.bits & UV_WRITABLE) != 0; }
  /// The peer has ended its sending side.
  static bool ended(const Event& event) noexcept { return (event.bits & UV_DISCONNECT) != 0; }
  /// The connection is dead in both directions.
  static bool broken(const Event& event) noexcept { return (event.bits & UV_PRIORITIZED) != 0; }

  /// Any thread: makes wait() return an event with the null tag, once per call or few calls.
  void wake() noexcept;

 private:
  static void on_ready(uv_poll_t* handle, int status, int bits);
  static void on_wake(uv_async_t* handle);
  static void on_time(uv_timer_t* handle);

  int start(Watch& watch, int bits) noexcept;
  void note(Watch& watch, int bits) noexcept;
  void set_timer(int timeout_ms) noexcept;

  /// Events told at once, as of epoll; libuv takes up to 1,024 and more.
  static constexpr std::size_t kBatch = 256;
  static constexpr std::uint64_t kNever = UINT64_MAX;

  uv_loop_t loop_{};
  uv_timer_t timer_{};
  uv_async_t wake_{};
  bool opened_ = false;
  std::uint64_t timer_due_ = kNever;  ///< what timer_ is set to, in libuv's time
  std::vector<Watch*> watches_;       ///< by descriptor
  /// By libuv's last run. There is room for one of each watch and a wake-up.
  std::vector<Event> noted_;
  bool wake_noted_ = false;
  std::size_t first_ = 0;  ///< of them: the first of this wait()
  std::size_t next_ = 0;   ///< of them: the first of the next one
};

}  // namespace leantea::net::readiness

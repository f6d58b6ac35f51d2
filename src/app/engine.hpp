// Engine: what the connections of one loop share. Time, deadlines, output blocks, scratch space, the
// way back from other threads, and the list of connections that a backend must look at.
//
// One thread (the loop's) calls everything, but for Mailbox::post and what says otherwise. A backend
// makes one Engine per loop and turns it like this:
//
//     wait for events, at most wait_ms()
//     set_now(clock)
//     for each event: drive its connection (connection.hpp)
//     run_posted(); run_due()
//     while (Connection* c = take_touched()): drive c
//
// It outlives its connections. At its end, finished() says that no connection is left and no handler
// is out on another thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <leantea/limits.hpp>

#include "base/assert.hpp"
#include "base/date_cache.hpp"
#include "base/mailbox.hpp"
#include "base/output_queue.hpp"
#include "base/timer_wheel.hpp"
#include "http/request_head.hpp"
#include "http/target.hpp"

namespace leantea::app {

class Application;
class Connection;
class WorkerPool;

/// What time it is: one reading, used for a whole turn of the loop.
struct Now {
  base::Millis mono = 0;          ///< never goes back
  std::int64_t unix_seconds = 0;  ///< for `Date`
};

/// What all loops of one server share. Outlives them.
struct ServerShared {
  const Application& application;
  const Limits& limits;
  WorkerPool& workers;
  /// Connections open now, over all loops. On a cache line of its own: every loop writes it when a connection
  /// comes or goes, and every request reads what stands above.
  alignas(64) std::atomic<std::uint32_t> connections{0};
};

/// How a loop is woken from another thread.
class Waker {
 public:
  virtual ~Waker() = default;
  /// Makes the loop call run_posted() soon. Any thread; cheap when already woken.
  virtual void wake() noexcept = 0;
};

/// What only the backend knows of a connection's peer. A question is null where nobody can answer it: without sockets.
struct PeerInquiry {
  /// Where the peer is.
  std::string (*name)(const Connection&) = nullptr;
  /// Milliseconds since the kernel last had room at the peer and sent it new bytes; negative when that is not known.
  /// Asked only when write_timeout has passed without a send that the kernel took.
  base::Millis (*delivery_age)(const Connection&) = nullptr;
};

class Engine {
 public:
  /// `waker` outlives the engine.
  Engine(ServerShared& shared, Waker& waker, Now now);
  /// REQUIRES: finished().
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // ---- For backends ----

  /// Says what time it is. REQUIRES: `now.mono` does not go back.
  void set_now(Now now) noexcept {
    LEANTEA_ASSERT(now.mono >= now_.mono);
    now_ = now;
    date_.update(now.unix_seconds);
  }
  Now now() const noexcept { return now_; }
  /// How long the loop may wait for events, in milliseconds; -1 for as long as it likes.
  int wait_ms() const noexcept {
    if (touched_ != nullptr || draining_) [[unlikely]]
      return wait_ms_otherwise();
    return ms_until(next_due_);
  }
  /// Delivers what other threads posted (offloaded work that is done, drain requests).
  void run_posted();
  /// Lets connections act on deadlines that have passed.
  void run_due() {
    if (now_.mono >= next_due_) fire_timers();
    if (draining_) [[unlikely]]
      run_drain();
  }
  /// The next connection that changed outside of a call of its backend, or null. Each is returned
  /// once per change.
  Connection* take_touched() noexcept;

  /// Takes a place for one more connection, or says that there is none (Limits::connections): the
  /// backend then stops accepting until has_place(), or answers refusal() where the limits say so.
  /// The place is given back by ~Connection: construct one, or call give_back_place().
  bool take_place() noexcept;
  void give_back_place() noexcept;
  bool has_place() const noexcept;
  bool refuses_above_connections() const noexcept { return limits_.refuse_above_connections; }
  /// A complete 503 answer with `Connection: close`. Valid until the next set_now().
  std::string_view refusal() noexcept;

  /// Begins a drain: what has come is answered, the last of it with `Connection: close`; connections that
  /// wait for a request finish after a short grace in which they may still bring one.
  /// At `deadline` stop tokens fire and what is left is cut. A later call may bring it forward.
  void begin_drain(base::Millis deadline);
  bool draining() const noexcept { return draining_; }
  /// No connection and no handler is left.
  bool finished() const noexcept {
    return first_ == nullptr && orphans_ == 0 && posting_.load(std::memory_order_acquire) == 0;
  }
  std::uint32_t connection_count() const noexcept { return connection_count_; }
  /// Handlers whose connections are gone are out on workers: each comes back with a post().
  bool handlers_out() const noexcept { return orphans_ != 0; }

  /// Any thread: hands `item` to this loop and wakes it when needed.
  void post(base::MailItem& item) noexcept;

  /// Set by the backend, as soon as it has made the engine.
  void set_peer_inquiry(const PeerInquiry& inquiry) noexcept { peer_inquiry_ = inquiry; }

  // ---- For connections ----

  ServerShared& shared() noexcept { return shared_; }
  const Limits& limits() const noexcept { return limits_; }
  base::BlockPool& blocks() noexcept { return blocks_; }
  std::string_view date_line() const noexcept { return date_.line(); }
  /// Sets the one timer of a connection; see TimerWheel::set.
  void set_timer(base::TimerNode& node, base::Millis due) noexcept {
    wheel_.set(node, due);
    next_due_ = std::min(next_due_, due);
  }
  void cancel_timer(base::TimerNode& node) noexcept { wheel_.cancel(node); }
  /// Where nothing is in progress, a connection whose timer fires by then is armed in time: the shortest
  /// of the timeouts that can be due, from now.
  base::Millis quiet_due() const noexcept { return now_.mono + quiet_timeout_; }
  const PeerInquiry& peer_inquiry() const noexcept { return peer_inquiry_; }
  /// Puts the connection on the list of take_touched(), once.
  void touch(Connection& connection) noexcept;

  /// Scratch for the one head that is being looked at.
  http::RequestHead& scratch_head() noexcept { return head_; }
  std::span<char> scratch_path() noexcept { return path_; }
  http::HostCheck& host_check() noexcept { return host_check_; }

 private:
  friend class Connection;
  friend class Exchange;

  int wait_ms_otherwise() const noexcept;
  int ms_until(base::Millis due) const noexcept {
    if (due == INT64_MAX) return -1;
    return static_cast<int>(std::clamp<base::Millis>(due - now_.mono, 0, INT_MAX));
  }
  void fire_timers();
  void run_drain();
  void add(Connection& connection) noexcept;
  void remove(Connection& connection) noexcept;

  ServerShared& shared_;
  const Limits& limits_;  ///< shared_.limits, at hand
  Waker& waker_;
  Now now_;
  base::DateCache date_;
  base::BlockPool blocks_;
  base::TimerWheel wheel_;
  base::Millis next_due_ =
      INT64_MAX;  ///< no timer fires before; kept so that a turn need not ask the wheel
  base::Millis quiet_timeout_;
  base::Mailbox mailbox_;
  PeerInquiry peer_inquiry_;
  Connection* first_ = nullptr;    ///< all connections, linked through them
  Connection* touched_ = nullptr;  ///< those for take_touched()
  std::uint32_t connection_count_ = 0;
  std::atomic<std::uint32_t> posting_{0};  ///< threads inside post()
  std::uint32_t orphans_ =
      0;  ///< exchanges whose connection is gone while their work is on a worker
  bool draining_ = false;
  bool cut_ = false;
  base::Millis drain_deadline_ = 0;
  std::string refusal_;
  http::HostCheck host_check_;
  http::RequestHead head_;
  std::array<http::FieldPlace, Limits::kMaxHeaderCount> fields_;
  std::array<char, 65'536> path_;
};

}  // namespace leantea::app

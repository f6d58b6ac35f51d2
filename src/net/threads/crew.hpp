// Crew: the connection threads of one server. Bounded; a thread that has served its connection waits for the
// next one, and the one that came home last goes out first (its memory is still in the cache).
//
// A thread is started when a connection comes and all others are busy, and stays to the end: a server that
// once had n connections keeps n threads. on_room() comes before everything else, end() after it; the rest
// from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "app/engine.hpp"
#include "net/line_a_minute.hpp"
#include "net/threads/connection_thread.hpp"

namespace leantea::net::threads {

class Crew {
 public:
  /// At most `limit` threads.
  Crew(app::ServerShared& shared, unsigned limit);
  /// REQUIRES: end() was called, or there is no thread.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Sets what is called when a thread came home after want_room().
  void on_room(std::function<void()> call) { on_room_ = std::move(call); }

  /// Why there is no thread for another connection.
  enum class Shortage : std::uint8_t { kNone, kAllBusy, kCannotStart };
  struct Hired {
    ConnectionThread* thread = nullptr;
    Shortage shortage = Shortage::kNone;
  };
  /// A thread for a connection that is about to be accepted: then thread->give(fd), or let_go().
  Hired hire();
  void let_go(ConnectionThread& thread);
  /// Asks for one call of on_room() when a thread comes home.
  void want_room() noexcept { room_wanted_.store(true); }

  /// For the line that says that connections wait; one for all workers.
  LineAMinute& shortage_line() noexcept { return shortage_line_; }

  /// Begins a drain that ends at `deadline` (monotonic), or brings its end forward.
  void drain(base::Millis deadline);
  /// When the drain ends; ConnectionThread::kNever while there is none.
  base::Millis drain_until() const noexcept { return drain_until_.load(std::memory_order_seq_cst); }
  /// Waits until every thread has ended its connection, and ends them. REQUIRES: nobody hires any more.
  void end();

  /// For its threads: comes home. False: it is to end.
  bool come_home(ConnectionThread& thread);

 private:
  ConnectionThread* start_thread(unsigned index);

  app::ServerShared& shared_;
  const unsigned limit_;
  std::function<void()> on_room_;
  std::atomic<base::Millis> drain_until_{ConnectionThread::kNever};
  std::atomic<bool> room_wanted_{false};
  LineAMinute shortage_line_;

  std::mutex mutex_;
  // Guarded by mutex_.
  std::vector<std::unique_ptr<ConnectionThread>> threads_;
  std::vector<ConnectionThread*> home_;  ///< waiting for a connection; the last came last
  unsigned count_ = 0;                   ///< threads, and those being started
  bool ending_ = false;
};

}  // namespace leantea::net::threads

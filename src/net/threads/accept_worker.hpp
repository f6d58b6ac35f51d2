// AcceptWorker: takes new connections from its listeners and hands each to a thread of the crew. It never
// looks into one.
//
// run() is the worker's thread; open() comes before it, from the owner's. wake(), drain() and room_made()
// may be called from any thread. Everything else is the worker's own.
#pragma once

#include <poll.h>

#include <atomic>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "app/engine.hpp"
#include "net/accept_gate.hpp"
#include "net/clock.hpp"
#include "net/listener.hpp"
#include "net/refused_sockets.hpp"
#include "net/socket.hpp"
#include "net/threads/crew.hpp"
#include "net/threads/wake_event.hpp"

namespace leantea::net::threads {

class AcceptWorker final : public app::Waker {
 public:
  AcceptWorker(app::ServerShared& shared, Crew& crew, unsigned index);
  ~AcceptWorker() override;
  AcceptWorker(const AcceptWorker&) = delete;
  AcceptWorker& operator=(const AcceptWorker&) = delete;

  /// Makes what the worker needs and takes its listeners.
  std::expected<void, std::string> open(std::vector<Listener> listeners);
  /// Accepts until a drain has taken who was waiting.
  void run();

  void wake() noexcept override { wake_.set(); }
  /// Begins a drain that ends at `deadline` (monotonic), or brings its end forward.
  void drain(base::Millis deadline) noexcept;
  /// A connection has ended somewhere: there may be room for another one.
  void room_made() noexcept;

 private:
  /// Connections accepted from one listener before the others have their turn.
  static constexpr int kAcceptsPerTurn = 64;

  enum class Accepted : std::uint8_t {
    kOne,      ///< and another may be waiting
    kNothing,  ///< nobody waits
    kPaused,   ///< somebody may wait, and there is no room
  };

  // One turn.
  void turn();
  int wait_ms() const noexcept;
  void keep_time();

  // Listeners.
  void accept_ready(const Listener& listener);
  Accepted accept_one(const Listener& listener);
  Accepted hand_over(const Listener& listener);
  Accepted accept_failed(IoError error);
  Accepted refuse_one(const Listener& listener);
  Accepted pause_accepting(std::string_view why);
  void resume_accepting();
  void watch_ports();
  void unwatch_ports() noexcept;

  // The end.
  void begin_drain(base::Millis deadline);
  void close_ports();
  bool may_end() const noexcept;

  // Constant after open().
  app::ServerShared& shared_;
  Crew& crew_;
  const unsigned index_;

  // The worker's thread only.
  Clock clock_;
  app::Engine engine_;  ///< has no connections: it counts places and writes refusals
  std::vector<Listener> ports_;
  std::vector<pollfd>
      watched_;  ///< of wake_, then of each port; a port's fd is -1 while not watched
  AcceptGate gate_;
  RefusedSockets refused_;
  base::Millis ports_close_at_ = AcceptGate::kNever;
  base::Millis draining_until_ = AcceptGate::kNever;

  // Any thread.
  WakeEvent wake_;
  std::atomic<bool> room_made_{false};
  std::atomic<base::Millis> drain_until_{AcceptGate::kNever};
};

}  // namespace leantea::net::threads

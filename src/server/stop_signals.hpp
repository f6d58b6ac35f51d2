// StopSignals: SIGTERM and SIGINT as events of Server::run(), mixed with events of other threads.
//
// Signals belong to the process, so a handler is installed while at least one object lives, and what
// was there before comes back with the last one. Every object sees every signal: N servers in N threads
// all end by one SIGTERM. A handler, not sigwait(): the program may have threads that do not block the
// signals, and they would take them and die.
//
// Made, asked and destroyed by one thread, in which the signals are unblocked as long as it lives (its
// mask comes back). post() may be called from any thread while the object lives.
#pragma once

#include <signal.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>

namespace leantea::server {

class StopSignals {
 public:
  enum class Event : char {
    kSignal = 's',  ///< SIGTERM or SIGINT
    kDrain = 'd',   ///< somebody called Server::drain()
    kEnded = 'e',   ///< all threads of the server have ended
  };
  /// Servers that may run() at the same time.
  static constexpr std::size_t kMost = 64;

  StopSignals() noexcept;
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Nothing, or why it does not work.
  std::expected<void, std::string> ready() const;
  /// Waits for the next event. REQUIRES: ready().
  Event next() noexcept;
  /// Adds an event of another thread. REQUIRES: ready().
  void post(Event event) noexcept;

 private:
  std::size_t place_;  ///< in the table of pipes; kMost: none was free
  sigset_t mask_before_{};
};

}  // namespace leantea::server

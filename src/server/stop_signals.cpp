#include "server/stop_signals.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>

#include "base/assert.hpp"

namespace leantea::server {
namespace {

constexpr std::array kSignals = {SIGTERM, SIGINT};

/// A pipe is opened when its place is first used and never closed: a handler that is just writing
/// cannot meet a descriptor that means something else by now.
struct Place {
  std::atomic<bool> listening{false};
  int read_end = -1;
  std::atomic<int> write_end{-1};
};

std::array<Place, StopSignals::kMost> places;

std::mutex installing;  // guards what follows, and who takes a place
int objects = 0;
std::array<struct sigaction, kSignals.size()> actions_before;

void write_event(const Place& place, StopSignals::Event event) noexcept {
  const char byte = static_cast<char>(event);
  // The pipe holds thousands of events, so it is never full while somebody reads it.
  while (::write(place.write_end.load(std::memory_order_acquire), &byte, 1) < 0 && errno == EINTR) {
  }
}

/// Runs on whichever thread the kernel chose: only what is safe in a signal handler.
void on_signal(int) {
  const int errno_before = errno;
  for (const Place& place : places)
    if (place.listening.load(std::memory_order_acquire))
      write_event(place, StopSignals::Event::kSignal);
  errno = errno_before;
}

bool open_pipe(Place& place) noexcept {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return false;
  for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
  // A handler must never wait; the reader does.
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  place.read_end = ends[0];
  place.write_end.store(ends[1], std::memory_order_release);
  return true;
}

/// What an earlier user of the place did not read any more. Never waits, so a lock may be held.
void discard_events(const Place& place) noexcept {
  ::fcntl(place.read_end, F_SETFL, O_NONBLOCK);
  std::array<char, 64> bytes{};
  // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection)
  while (::read(place.read_end, bytes.data(), bytes.size()) > 0) {
  }
  ::fcntl(place.read_end, F_SETFL, 0);
}

std::size_t take_place() noexcept {
  for (std::size_t i = 0; i < places.size(); ++i) {
    Place& place = places[i];
    if (place.listening.load(std::memory_order_relaxed)) continue;
    if (place.read_end < 0 && !open_pipe(place)) return places.size();
    discard_events(place);
    place.listening.store(true, std::memory_order_release);
    return i;
  }
  return places.size();
}

void install_handler() noexcept {
  struct sigaction action{};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // the program's other threads are not to notice
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    ::sigaction(kSignals[i], &action, &actions_before[i]);
}

void restore_handlers() noexcept {
  for (std::size_t i = 0; i < kSignals.size(); ++i)
    ::sigaction(kSignals[i], &actions_before[i], nullptr);
}

}  // namespace

StopSignals::StopSignals() noexcept : place_(kMost) {
  const std::scoped_lock lock(installing);
  place_ = take_place();
  if (place_ == kMost) return;
  if (objects++ == 0) install_handler();
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int signal : kSignals) sigaddset(&wanted, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &wanted, &mask_before_);
}

StopSignals::~StopSignals() {
  if (place_ == kMost) return;
  const std::scoped_lock lock(installing);
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  if (--objects == 0) restore_handlers();
  places[place_].listening.store(false, std::memory_order_release);
}

std::expected<void, std::string> StopSignals::ready() const {
  if (place_ != kMost) return {};
  return std::unexpected("cannot wait for signals: no descriptor is free for it, or more than " +
                         std::to_string(kMost) +
                         " servers run() at once; raise the limit of open files, or use start()");
}

StopSignals::Event StopSignals::next() noexcept {
  LEANTEA_ASSERT(place_ != kMost);
  char byte = 0;
  while (::read(places[place_].read_end, &byte, 1) != 1) LEANTEA_ASSERT(errno == EINTR);
  return static_cast<Event>(byte);
}

void StopSignals::post(Event event) noexcept {
  LEANTEA_ASSERT(place_ != kMost);
  write_event(places[place_], event);
}

}  // namespace leantea::server

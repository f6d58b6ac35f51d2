#include "interrupt.hpp"

#include <poll.h>
#include <sys/signalfd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "descriptor.hpp"
#include "failure.hpp"

namespace leantea::lab {
namespace {

// Signals belong to the whole process, so does this.
Descriptor signals;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

[[noreturn]] void throw_pending() {
  signalfd_siginfo info{};
  const ssize_t got = ::read(signals.get(), &info, sizeof info);
  throw Interrupted(got == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo)
                                                             : SIGINT);
}

}  // namespace

void catch_interrupts() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  signals = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) throw std::system_error(errno, std::generic_category(), "signalfd");
}

void check_interrupt() { wait_readable(-1, Clock::time_point::min()); }

bool wait_readable(int fd, Clock::time_point deadline) {
  for (;;) {
    const auto now = Clock::now();
    const auto left = deadline <= now ? Clock::duration::zero() : deadline - now;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec timeout{
        .tv_sec = seconds.count(),
        .tv_nsec = std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds).count()};
    std::array<pollfd, 2> watched{pollfd{.fd = signals.get(), .events = POLLIN, .revents = 0},
                                  pollfd{.fd = fd, .events = POLLIN, .revents = 0}};
    const int ready = ::ppoll(watched.data(), watched.size(), &timeout, nullptr);
    if (ready < 0 && errno != EINTR)
      throw std::system_error(errno, std::generic_category(), "ppoll");
    if (ready > 0 && watched[0].revents != 0) throw_pending();
    if (ready > 0 && watched[1].revents != 0) return true;
    if (Clock::now() >= deadline) return false;
  }
}

void pause_for(std::chrono::nanoseconds time) { wait_readable(-1, Clock::now() + time); }

}  // namespace leantea::lab

// Ctrl-C and SIGTERM as an exception. The signals are blocked and read from a descriptor, so nothing of the lab
// runs in a signal handler, and every wait of the lab is also a wait for them. Main thread only.
#pragma once

#include <chrono>

namespace leantea::lab {

using Clock = std::chrono::steady_clock;

/// Blocks SIGINT, SIGTERM and SIGHUP, ignores SIGPIPE. Called once, before anything is started.
void catch_interrupts();

/// Throws Interrupted when one of the signals has come.
void check_interrupt();

/// Waits until `fd` is readable, or until `deadline`: true when readable. Throws Interrupted. A negative `fd`
/// is never readable, so this is also how the lab sleeps.
bool wait_readable(int fd, Clock::time_point deadline);

/// Sleeps. Throws Interrupted.
void pause_for(std::chrono::nanoseconds time);

}  // namespace leantea::lab

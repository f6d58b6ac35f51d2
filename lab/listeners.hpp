// Who listens on a port, by /proc. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace leantea::lab {

/// The processes that hold a listening TCP socket of this port (those of a server that forked all count). Empty when
/// nobody listens, or when this user may not look into who does.
std::vector<pid_t> listeners_on(std::uint16_t port);

}  // namespace leantea::lab

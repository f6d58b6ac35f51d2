#include "server/standard_streams.hpp"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace leantea::server {

void occupy_standard_streams() noexcept {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // Gets the lowest number that is free, which is this one. Where it fails there is nothing to be had for others.
    if (::open("/dev/null", O_RDWR) < 0) return;
  }
}

}  // namespace leantea::server

// Channel: a connection together with its socket and what the poller watches it for. A Connection and 8 bytes
// more; see loop/channel_slab.hpp.
#pragma once

#include <cstdint>

#include "app/connection.hpp"
#include "net/readiness/interest.hpp"

namespace leantea::net::readiness {

struct Channel {
  Channel() noexcept : next(nullptr) {}
  ~Channel() {}  // the slab ends `connection`
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  bool is_open() const noexcept { return fd >= 0; }

  // For the slab.
  void begin() noexcept {
    interest = Interest::kUnwatched;
    write_blocked = false;
    end_seen = false;
  }
  void end() noexcept {}
  bool busy() const noexcept { return false; }

  union {
    app::Connection connection;  ///< while open
    Channel* next;               ///< else: the slab's
  };
  std::int32_t fd = -1;
  Interest interest = Interest::kUnwatched;  ///< what the poller watches for
  bool write_blocked = false;  ///< the kernel took less than was offered: wait for room
  bool end_seen = false;       ///< the peer's FIN has been told to the connection
};

static_assert(sizeof(Channel) <= sizeof(app::Connection) + 8);

}  // namespace leantea::net::readiness

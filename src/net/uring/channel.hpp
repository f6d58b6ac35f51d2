// Channel: a connection together with its socket and what the ring is doing for it. A Connection and 24 bytes more;
// see loop/channel_slab.hpp.
#pragma once

#include <cstdint>
#include <memory>

#include "app/connection.hpp"
#include "net/uring/held_input.hpp"
#include "net/uring/operation.hpp"

namespace leantea::net::uring {

struct Channel {
  Channel() noexcept : next(nullptr) {}
  ~Channel() {}  // the slab ends `connection`
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  bool is_open() const noexcept { return fd >= 0; }
  bool has_under_way(Operation operation) const noexcept {
    return (under_way & bit_of(operation)) != 0;
  }
  Tag tag(Operation operation) noexcept { return {this, operation}; }

  // For the slab.
  void begin() noexcept {
    offered = 0;
    fed = cancelling = unwanted = write_blocked = false;
    end_told = end_read = end_waits = false;
  }
  void end() noexcept { held.reset(); }
  bool busy() const noexcept { return under_way != 0; }

  union {
    app::Connection connection;  ///< while open
    Channel* next;               ///< else: the slab's
  };
  std::unique_ptr<HeldInput> held;  ///< received, not wanted yet; mostly null
  std::int32_t fd = -1;
  std::uint32_t offered = 0;   ///< bytes of the send that is under way
  std::uint8_t under_way = 0;  ///< operations the ring has, by bit_of()
  bool fed = false;            ///< bytes came since the receive was started
  bool cancelling = false;     ///< the receive under way has been asked to end
  bool unwanted = false;       ///< bytes came that were not asked for, and were passed on
  bool write_blocked = false;  ///< the kernel took less than was offered: wait for room
  bool end_told = false;       ///< the connection knows of the peer's FIN
  bool end_read = false;       ///< all bytes before the FIN have been received …
  bool end_waits = false;  ///< … but not all of them were wanted yet, so receive_end() is still due
};

static_assert(sizeof(Channel) <= sizeof(app::Connection) + 24);

}  // namespace leantea::net::uring

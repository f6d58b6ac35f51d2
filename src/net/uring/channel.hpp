// Channel: a connection together with its socket and what the ring is doing for it; ChannelSlab: where the
// channels of one loop live.
//
// One thread, the loop's. A channel has a fixed address while it is open or the ring has an operation of its
// under way: operations carry it as their tag, and Connection* and Channel* turn into each other without a
// lookup.
//
// Memory: a channel is a Connection and 24 bytes more. The slab takes chunks of about 16 KiB from the heap,
// with no overhead per channel, and keeps them to its end: a loop that once had n connections keeps the room
// for n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

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

/// The channel that a connection is part of.
inline Channel& channel_of(app::Connection& connection) noexcept {
  return reinterpret_cast<Channel&>(connection);  // the first member; ChannelSlab checks it
}
inline const Channel& channel_of(const app::Connection& connection) noexcept {
  return reinterpret_cast<const Channel&>(connection);
}

class ChannelSlab {
 public:
  ChannelSlab() = default;
  /// REQUIRES: no channel is open or has operations under way.
  ~ChannelSlab();
  ChannelSlab(const ChannelSlab&) = delete;
  ChannelSlab& operator=(const ChannelSlab&) = delete;

  /// A channel for a new socket, with its connection made.
  Channel& open(app::Engine& engine, int fd);
  /// Ends the channel's connection. Does not close the socket. A channel with operations under way stays as a
  /// closed one until the last of them has ended (release()), others until end_turn().
  void close(Channel& channel) noexcept;
  /// The last operation of a closed channel has ended.
  void release(Channel& channel) noexcept;
  /// Makes the channels closed and released since the last call available again.
  void end_turn() noexcept;

  /// Open, or closed with operations under way.
  std::size_t in_use() const noexcept { return in_use_; }

 private:
  static constexpr std::size_t kChunkBytes = 16 * 1024;
  static constexpr std::size_t kPerChunk = kChunkBytes / sizeof(Channel);

  void grow();

  std::vector<std::unique_ptr<Channel[]>> chunks_;
  Channel* free_ = nullptr;
  Channel* closed_ = nullptr;       ///< closed in this turn
  Channel* closed_last_ = nullptr;  ///< the end of that list
  std::size_t in_use_ = 0;
};

}  // namespace leantea::net::uring

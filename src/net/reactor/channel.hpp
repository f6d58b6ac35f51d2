// Channel: a connection together with its socket; ChannelSlab: where the channels of one loop live.
//
// One thread, the loop's. A channel has a fixed address while it is open: the poller keeps it as its tag,
// and Connection* and Channel* turn into each other without a lookup.
//
// Memory: a channel is a Connection and 8 bytes more. The slab takes chunks of about 16 KiB from the
// heap, with no overhead per channel, and keeps them to its end: a loop that once had n connections
// keeps the room for n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "app/connection.hpp"
#include "net/reactor/interest.hpp"

namespace leantea::net {

struct Channel {
  Channel() noexcept : next(nullptr) {}
  ~Channel() {}  // the slab ends `connection`
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  bool is_open() const noexcept { return fd >= 0; }

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
  /// REQUIRES: no channel is open.
  ~ChannelSlab();
  ChannelSlab(const ChannelSlab&) = delete;
  ChannelSlab& operator=(const ChannelSlab&) = delete;

  /// A channel for a new socket, with its connection made.
  Channel& open(app::Engine& engine, int fd);
  /// Ends the channel's connection. Its memory stays readable as a closed channel until end_turn(): events
  /// that the kernel reported before may still name it. Does not close the socket.
  void close(Channel& channel) noexcept;
  /// Makes the channels closed since the last call available again.
  void end_turn() noexcept;

  std::size_t open_count() const noexcept { return open_count_; }

 private:
  static constexpr std::size_t kChunkBytes = 16 * 1024;
  static constexpr std::size_t kPerChunk = kChunkBytes / sizeof(Channel);

  void grow();

  std::vector<std::unique_ptr<Channel[]>> chunks_;
  Channel* free_ = nullptr;
  Channel* closed_ = nullptr;       ///< closed in this turn
  Channel* closed_last_ = nullptr;  ///< the end of that list
  std::size_t open_count_ = 0;
};

}  // namespace leantea::net

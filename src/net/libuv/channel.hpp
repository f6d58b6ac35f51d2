// Channel: a connection together with its socket and libuv's handle for it; ChannelSlab: where the channels
// of one loop live.
//
// One thread, the loop's. A channel has a fixed address while it is open or libuv still knows its handle:
// libuv keeps it in the handle, and Connection* and Channel* turn into each other without a lookup.
//
// Memory: a channel is a Connection, a uv_poll_t (160 bytes) and 8 bytes more. The slab takes chunks of
// about 16 KiB from the heap, with no overhead per channel, and keeps them to its end: a loop that once had
// n connections keeps the room for n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <uv.h>

#include "app/connection.hpp"
#include "net/reactor/interest.hpp"

namespace leantea::net::libuv {

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
  uv_poll_t poll;  ///< libuv's, while `has_poll`
  std::int32_t fd = -1;
  Interest interest = Interest::kUnwatched;  ///< what libuv watches for
  bool has_poll = false;
  bool write_blocked = false;  ///< the kernel took less than was offered: wait for room
  bool end_seen = false;       ///< the peer's FIN has been told to the connection
};

static_assert(sizeof(Channel) <= sizeof(app::Connection) + sizeof(uv_poll_t) + 8);

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
  /// REQUIRES: no channel is open, and all are given back.
  ~ChannelSlab();
  ChannelSlab(const ChannelSlab&) = delete;
  ChannelSlab& operator=(const ChannelSlab&) = delete;

  /// A channel for a new socket, with its connection made.
  Channel& open(app::Engine& engine, int fd);
  /// Ends the channel's connection. Does not close the socket. The channel is not used again before
  /// give_back().
  void close(Channel& channel) noexcept;
  /// Makes a closed channel available again: libuv has forgotten its handle, or never had it.
  void give_back(Channel& channel) noexcept;

 private:
  static constexpr std::size_t kChunkBytes = 16 * 1024;
  static constexpr std::size_t kPerChunk = kChunkBytes / sizeof(Channel);

  void grow();

  std::vector<std::unique_ptr<Channel[]>> chunks_;
  Channel* free_ = nullptr;
  std::size_t taken_count_ = 0;
};

}  // namespace leantea::net::libuv

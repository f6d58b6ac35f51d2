// ChannelSlab: where the channels of one event loop live. A channel is a connection together with its socket
// and what the loop has to know about it.
//
// One thread, the loop's. A channel has a fixed address while it is open or busy: pollers and rings keep it as
// their tag, and Connection* and Channel* turn into each other without a lookup.
//
// Memory: the slab takes chunks of about 16 KiB from the heap, with no overhead per channel, and keeps them to
// its end: a loop that once had n connections keeps the room for n.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "app/connection.hpp"
#include "base/assert.hpp"

namespace leantea::net {

/// The channel that a connection is part of.
template <class Channel>
Channel& channel_of(app::Connection& connection) noexcept {
  return reinterpret_cast<Channel&>(connection);  // the first member; ChannelSlab checks it
}
template <class Channel>
const Channel& channel_of(const app::Connection& connection) noexcept {
  return reinterpret_cast<const Channel&>(connection);
}

/// For PeerInquiry.
template <class Channel>
int descriptor_of(const app::Connection& connection) {
  return channel_of<Channel>(connection).fd;
}

/// A Channel has, first, a union of `app::Connection connection` (while it is open) and `Channel* next` (else:
/// the slab's); `std::int32_t fd`, -1 while it is not open (is_open()); begin() and end(), which make its other
/// members what they are when a connection begins, and free what they own at its end; and busy(): whether
/// somebody else still knows it.
template <class Channel>
class ChannelSlab {
 public:
  ChannelSlab() = default;
  /// REQUIRES: no channel is open or busy.
  ~ChannelSlab() { LEANTEA_ASSERT(in_use_ == 0); }
  ChannelSlab(const ChannelSlab&) = delete;
  ChannelSlab& operator=(const ChannelSlab&) = delete;

  /// A channel for a new socket, with its connection made.
  Channel& open(app::Engine& engine, int fd) {
    if (free_ == nullptr) grow();
    Channel& channel = *free_;
    free_ = channel.next;
    std::construct_at(&channel.connection, engine);
    channel.fd = fd;
    channel.begin();
    ++in_use_;
    return channel;
  }

  /// Ends the channel's connection. Does not close the socket. A busy channel stays as a closed one until
  /// release(), others are released here.
  void close(Channel& channel) noexcept {
    LEANTEA_ASSERT(channel.is_open());
    std::destroy_at(&channel.connection);
    channel.end();
    channel.fd = -1;
    channel.next = nullptr;
    if (!channel.busy()) release(channel);
  }

  /// Nobody else knows a closed channel any more. Its memory stays readable as a closed channel until end_turn():
  /// events that the kernel reported before may still name it.
  void release(Channel& channel) noexcept {
    LEANTEA_ASSERT(!channel.is_open() && !channel.busy());
    channel.next = released_;
    if (released_ == nullptr) released_last_ = &channel;
    released_ = &channel;
    --in_use_;
  }

  /// Makes the channels released since the last call available again.
  void end_turn() noexcept {
    if (released_ == nullptr) return;
    released_last_->next = free_;
    free_ = released_;
    released_ = nullptr;
  }

  /// Open, or closed and busy.
  std::size_t in_use() const noexcept { return in_use_; }

 private:
  static constexpr std::size_t kChunkBytes = 16 * 1024;
  static constexpr std::size_t kPerChunk = kChunkBytes / sizeof(Channel);

  [[gnu::noinline]] void grow() {
    chunks_.push_back(std::make_unique<Channel[]>(kPerChunk));
    Channel* const chunk = chunks_.back().get();
    LEANTEA_ASSERT(&channel_of<Channel>(chunk->connection) == chunk);
    // The first of the chunk ends up on top of the list.
    for (std::size_t i = kPerChunk; i-- > 0;) {
      chunk[i].next = free_;
      free_ = &chunk[i];
    }
  }

  std::vector<std::unique_ptr<Channel[]>> chunks_;
  Channel* free_ = nullptr;
  Channel* released_ = nullptr;       ///< in this turn
  Channel* released_last_ = nullptr;  ///< the end of that list
  std::size_t in_use_ = 0;
};

}  // namespace leantea::net

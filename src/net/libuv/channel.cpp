#include "net/libuv/channel.hpp"

#include "base/assert.hpp"

namespace leantea::net::libuv {

ChannelSlab::~ChannelSlab() { LEANTEA_ASSERT(taken_count_ == 0); }

Channel& ChannelSlab::open(app::Engine& engine, int fd) {
  if (free_ == nullptr) grow();
  Channel& channel = *free_;
  free_ = channel.next;
  std::construct_at(&channel.connection, engine);
  channel.fd = fd;
  channel.interest = Interest::kUnwatched;
  channel.has_poll = false;
  channel.write_blocked = false;
  channel.end_seen = false;
  ++taken_count_;
  return channel;
}

void ChannelSlab::close(Channel& channel) noexcept {
  LEANTEA_ASSERT(channel.is_open());
  std::destroy_at(&channel.connection);
  channel.fd = -1;
}

void ChannelSlab::give_back(Channel& channel) noexcept {
  LEANTEA_ASSERT(!channel.is_open());
  channel.next = free_;
  free_ = &channel;
  --taken_count_;
}

void ChannelSlab::grow() {
  chunks_.push_back(std::make_unique<Channel[]>(kPerChunk));
  Channel* const chunk = chunks_.back().get();
  LEANTEA_ASSERT(&channel_of(chunk->connection) == chunk);
  // The first of the chunk ends up on top of the list.
  for (std::size_t i = kPerChunk; i-- > 0;) {
    chunk[i].next = free_;
    free_ = &chunk[i];
  }
}

}  // namespace leantea::net::libuv

#include "net/uring/channel.hpp"

#include "base/assert.hpp"

namespace leantea::net::uring {

ChannelSlab::~ChannelSlab() { LEANTEA_ASSERT(in_use_ == 0); }

Channel& ChannelSlab::open(app::Engine& engine, int fd) {
  if (free_ == nullptr) grow();
  Channel& channel = *free_;
  free_ = channel.next;
  std::construct_at(&channel.connection, engine);
  channel.fd = fd;
  channel.offered = 0;
  channel.fed = false;
  channel.cancelling = false;
  channel.unwanted = false;
  channel.write_blocked = false;
  channel.end_told = false;
  channel.end_read = false;
  channel.end_waits = false;
  ++in_use_;
  return channel;
}

void ChannelSlab::close(Channel& channel) noexcept {
  LEANTEA_ASSERT(channel.is_open());
  std::destroy_at(&channel.connection);
  channel.held.reset();
  channel.fd = -1;
  channel.next = nullptr;
  if (channel.under_way == 0) release(channel);
}

void ChannelSlab::release(Channel& channel) noexcept {
  LEANTEA_ASSERT(!channel.is_open() && channel.under_way == 0);
  channel.next = closed_;
  if (closed_ == nullptr) closed_last_ = &channel;
  closed_ = &channel;
  --in_use_;
}

void ChannelSlab::end_turn() noexcept {
  if (closed_ == nullptr) return;
  closed_last_->next = free_;
  free_ = closed_;
  closed_ = nullptr;
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

}  // namespace leantea::net::uring

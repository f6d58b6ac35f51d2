#include "net/uring/buffer_ring.hpp"

#include <errno.h>

#include <cstdlib>

#include "base/assert.hpp"
#include "net/socket.hpp"

namespace leantea::net::uring {
namespace {

constexpr std::size_t kPage = 4096;

// Not in the headers of liburing 2.3.
constexpr std::uint16_t kPbufRingInc = 2;  // IOU_PBUF_RING_INC, Linux 6.12
constexpr std::uint32_t kCqeBufMore = 16;  // IORING_CQE_F_BUF_MORE

/// Whole pages, untouched; null when there is no memory.
void* pages(std::size_t bytes) noexcept {
  return std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
}

unsigned index_of(const struct io_uring_cqe& event) noexcept {
  return event.flags >> IORING_CQE_BUFFER_SHIFT;
}

}  // namespace

void BufferRing::Free::operator()(void* memory) const noexcept { std::free(memory); }

std::expected<void, std::string> BufferRing::open(struct io_uring& ring, const RingSizes& sizes) {
  count_ = sizes.buffers;
  bytes_ = sizes.buffer_bytes;
  used_.resize(count_);
  memory_.reset(static_cast<char*>(pages(std::size_t{count_} * bytes_)));
  ring_.reset(static_cast<struct io_uring_buf_ring*>(pages(count_ * sizeof(struct io_uring_buf))));
  if (!memory_ || !ring_) return std::unexpected("cannot make receive buffers: out of memory");

  struct io_uring_buf_reg request = {};
  request.ring_addr = reinterpret_cast<std::uintptr_t>(ring_.get());
  request.ring_entries = count_;
  request.bgid = kGroup;
  request.pad = kPbufRingInc;  // called `flags` in later headers
  int result = io_uring_register_buf_ring(&ring, &request, 0);
  incremental_ = result == 0;
  if (result == -EINVAL) {
    request.pad = 0;
    result = io_uring_register_buf_ring(&ring, &request, 0);
  }
  if (result != 0) {
    return std::unexpected("cannot register receive buffers: " + error_text(-result));
  }
  io_uring_buf_ring_init(ring_.get());
  for (unsigned i = 0; i < count_; ++i) add(i);
  return {};
}

std::string_view BufferRing::bytes(const struct io_uring_cqe& event) const noexcept {
  LEANTEA_ASSERT((event.flags & IORING_CQE_F_BUFFER) != 0 && event.res > 0);
  const unsigned index = index_of(event);
  return {buffer(index) + used_[index], static_cast<std::size_t>(event.res)};
}

void BufferRing::recycle(const struct io_uring_cqe& event) noexcept {
  if ((event.flags & IORING_CQE_F_BUFFER) == 0) return;
  const unsigned index = index_of(event);
  if ((event.flags & kCqeBufMore) != 0) {
    used_[index] += event.res > 0 ? static_cast<std::uint32_t>(event.res) : 0;
  } else {
    add(index);
  }
}

void BufferRing::add(unsigned index) noexcept {
  used_[index] = 0;
  io_uring_buf_ring_add(ring_.get(), buffer(index), bytes_, static_cast<unsigned short>(index),
                        io_uring_buf_ring_mask(count_), 0);
  io_uring_buf_ring_advance(ring_.get(), 1);
}

}  // namespace leantea::net::uring

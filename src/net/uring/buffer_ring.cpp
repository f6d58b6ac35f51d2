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

std::unexpected<std::string> problem(int code) {
  return std::unexpected("cannot make receive buffers: " + error_text(code));
}

unsigned index_of(const struct io_uring_cqe& event) noexcept {
  return event.flags >> IORING_CQE_BUFFER_SHIFT;
}

}  // namespace

void BufferRing::Free::operator()(void* memory) const noexcept { std::free(memory); }

std::expected<void, std::string> BufferRing::open(struct io_uring& ring, const RingSizes& sizes) {
  if (sizes.may_share) {
    const int code = show(ring, sizes.shared, kPbufRingInc);
    if (code == 0) return {};
    if (code != EINVAL) return problem(code);  // EINVAL: this kernel does not know the flag
  }
  const int code = show(ring, sizes.whole, 0);
  if (code != 0) return problem(code);
  return {};
}

/// Makes buffers and registers them with `ring`. Zero, or the errno value.
int BufferRing::show(struct io_uring& ring, const BufferSizes& sizes, std::uint16_t flags) {
  sizes_ = sizes;
  used_.assign(sizes.count, 0);
  memory_.reset(static_cast<char*>(pages(std::size_t{sizes.count} * sizes.bytes)));
  ring_.reset(
      static_cast<struct io_uring_buf_ring*>(pages(sizes.count * sizeof(struct io_uring_buf))));
  if (!memory_ || !ring_) return ENOMEM;

  struct io_uring_buf_reg request = {};
  request.ring_addr = reinterpret_cast<std::uintptr_t>(ring_.get());
  request.ring_entries = sizes.count;
  request.bgid = kGroup;
  request.pad = flags;  // called `flags` in later headers
  if (const int result = io_uring_register_buf_ring(&ring, &request, 0); result != 0) {
    return -result;
  }
  io_uring_buf_ring_init(ring_.get());
  for (unsigned i = 0; i < sizes.count; ++i) add(i);
  return 0;
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
  io_uring_buf_ring_add(ring_.get(), buffer(index), sizes_.bytes,
                        static_cast<unsigned short>(index), io_uring_buf_ring_mask(sizes_.count),
                        0);
  io_uring_buf_ring_advance(ring_.get(), 1);
}

}  // namespace leantea::net::uring

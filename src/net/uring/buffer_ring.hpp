// BufferRing: the memory that the kernel receives into, shared by all connections of one ring. The kernel
// takes a buffer only when there are bytes, so a connection that waits for its peer holds none.
//
// One thread, the loop's. The bytes of a completion stay until recycle() of that completion; completions
// are taken and recycled in the kernel's order.
//
// Where the kernel can (6.12), receives take turns in one buffer, each behind the last: small requests lie
// side by side in few cache lines, and a large body still gets a whole buffer at once. Else each receive takes a
// whole buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <liburing.h>

#include "net/uring/ring_sizes.hpp"

namespace leantea::net::uring {

class BufferRing {
 public:
  /// The group's number in its ring.
  static constexpr unsigned short kGroup = 0;

  BufferRing() noexcept = default;
  BufferRing(const BufferRing&) = delete;
  BufferRing& operator=(const BufferRing&) = delete;

  /// Makes the buffers and shows them to `ring`, which ends before this object does.
  std::expected<void, std::string> open(struct io_uring& ring, const RingSizes& sizes);

  /// What a completed receive brought. REQUIRES: completions are looked at in order.
  std::string_view bytes(const struct io_uring_cqe& event) const noexcept;
  /// Gives the buffer of `event` back, where it has one and nothing more will come into it.
  void recycle(const struct io_uring_cqe& event) noexcept;

  /// Bytes of one buffer.
  std::size_t buffer_bytes() const noexcept { return sizes_.bytes; }

 private:
  struct Free {
    void operator()(void* memory) const noexcept;
  };

  char* buffer(unsigned index) const noexcept {
    return memory_.get() + std::size_t{index} * sizes_.bytes;
  }
  int show(struct io_uring& ring, const BufferSizes& sizes, std::uint16_t flags);
  void add(unsigned index) noexcept;

  BufferSizes sizes_ = {};
  std::unique_ptr<char, Free> memory_;                    ///< the buffers
  std::unique_ptr<struct io_uring_buf_ring, Free> ring_;  ///< the free ones, shared with the kernel
  std::vector<std::uint32_t> used_;                       ///< bytes of each that are taken already
};

}  // namespace leantea::net::uring

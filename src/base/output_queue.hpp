// OutputQueue: the bytes a connection has to send, in order, and the pool of blocks they live in.
//
// One thread (the loop's) at a time; no locks, no system calls. An empty queue owns no memory.
// Invariants:
//  1. bytes shown by gather() stay where they are, unchanged, until consume() has taken them
//     (io_uring sends from them while the queue grows behind them);
//  2. appending never moves bytes that are already in the queue;
//  3. size() is the number of bytes appended and not consumed.
#pragma once

#include <sys/uio.h>  // struct iovec only

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/assert.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define LEANTEA_POISON_FREE_BLOCKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEANTEA_POISON_FREE_BLOCKS 1
#endif
#endif

namespace leantea::base {

/// A piece of output: a block of the pool with bytes inside it, or bytes owned elsewhere. For
/// OutputQueue and BlockPool only.
struct OutputNode {
  enum class Kind : std::uint8_t { kBlock, kOwned, kShared };

  OutputNode* next = nullptr;
  const char* begin = nullptr;  ///< the first byte that is not consumed
  char* end = nullptr;          ///< behind the last byte; written through only where there is room
  std::uint32_t room = 0;       ///< free bytes at `end`; always 0 where the bytes are not a block's
  Kind kind = Kind::kBlock;
};

/// Blocks for output, shared by the connections of one loop. Keeps a bounded number of free blocks
/// for reuse, the one given back last first (it is the one in the cache).
class BlockPool {
 public:
  /// Payload bytes of one block. With the node and malloc's own words a block stays within a page.
  static constexpr std::size_t kBlockBytes = 4096 - 64;
  /// Free blocks kept for reuse; more are returned to the heap.
  static constexpr std::size_t kKeep = 256;

  BlockPool() noexcept = default;
  /// Blocks that are still in queues are not the pool's: clear the queues first.
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// An empty block: kBlockBytes of room, no bytes.
  OutputNode* take();
  /// Takes a block back. REQUIRES: take() returned it, and nothing points at it.
  void give(OutputNode* block) noexcept;
  /// Free blocks now.
  std::size_t free_count() const noexcept { return free_count_; }

 private:
  friend class OutputQueue;
  struct Block;
  static Block* make_block();
  static void delete_block(OutputNode* block) noexcept;
  // Under AddressSanitizer the bytes of a free block must not be touched: who still sends from them,
  // or writes to a reservation that is over, is found out.
  static void poison(OutputNode* block) noexcept;
  static void unpoison(OutputNode* block) noexcept;

  OutputNode* free_ = nullptr;
  std::size_t free_count_ = 0;
};

/// What gather() has filled in.
struct Pieces {
  std::size_t count = 0;
  std::size_t bytes = 0;  ///< in all of them
};

class OutputQueue {
 public:
  /// append_owned() and append_shared() copy up to this many bytes when they fit behind the last one.
  /// Copying 1 KiB takes as long as allocating and freeing a node (output_queue_bench, head_and_copy
  /// and head_and_owned: 29 and 31 ns), and the kernel then has one piece less to look at.
  static constexpr std::size_t kCopyBytes = 1024;

  OutputQueue() noexcept = default;
  /// REQUIRES: empty() (the owner clears it with the pool the blocks came from).
  ~OutputQueue() {
    if (head_ != nullptr) drop_reserved();
  }
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

  /// Space for `bytes` contiguous bytes behind the last one, in the last block when it fits, else in
  /// a fresh one. Valid until the next call that is not const. Nothing is appended before commit();
  /// a block reserved for nothing is given back by the next consume() or clear().
  /// REQUIRES: bytes <= BlockPool::kBlockBytes.
  [[gnu::always_inline]] char* reserve(BlockPool& pool, std::size_t bytes) {
    if (tail_ == nullptr || tail_->room < bytes) {
      LEANTEA_ASSERT(bytes <= BlockPool::kBlockBytes);
      link(pool.take());
    }
    return tail_->end;
  }
  /// Appends the first `bytes` of the space that reserve() returned. REQUIRES: no more than reserved.
  [[gnu::always_inline]] void commit(std::size_t bytes) noexcept {
    LEANTEA_ASSERT(tail_ != nullptr && bytes <= tail_->room);
    tail_->end += bytes;
    tail_->room -= static_cast<std::uint32_t>(bytes);
    size_ += bytes;
  }

  /// Appends a copy, over as many blocks as it takes.
  void append(BlockPool& pool, std::string_view bytes) {
    if (!append_to_last(bytes)) append_to_fresh(pool, bytes);
  }
  /// Appends bytes without copying them; the string is kept until they are consumed. A short one
  /// (kCopyBytes) is copied when the last block has room.
  void append_owned(std::string&& bytes);
  /// Appends bytes without copying them; `owner` is kept until they are consumed. `owner` may be
  /// null when the bytes have static storage. A short one (kCopyBytes) is copied when the last block
  /// has room, and `owner` is let go at once.
  void append_shared(std::shared_ptr<const void> owner, std::string_view bytes);
  /// Moves all of `other` behind the last byte of this queue; `other` is empty then. Nodes move,
  /// bytes stay. REQUIRES: both have their blocks from the same pool, and are not the same queue.
  void splice(OutputQueue& other) noexcept;

  /// Shows the first bytes as at most `out.size()` pieces, none of them empty.
  Pieces gather(std::span<struct iovec> out) const noexcept {
    Pieces pieces;
    for (const OutputNode* node = head_; node != nullptr && pieces.count < out.size();
         node = node->next) {
      const auto bytes = static_cast<std::size_t>(node->end - node->begin);
      if (bytes == 0) continue;  // a block that was reserved and not used
      out[pieces.count++] = {.iov_base = const_cast<char*>(node->begin), .iov_len = bytes};
      pieces.bytes += bytes;
    }
    return pieces;
  }
  /// Drops the first `bytes` bytes. REQUIRES: bytes <= size().
  void consume(BlockPool& pool, std::size_t bytes) noexcept {
    // The kernel took all there was, and that was one block: nearly every answer.
    if (bytes == size_ && head_ == tail_ && head_ != nullptr &&
        head_->kind == OutputNode::Kind::kBlock) {
      pool.give(head_);
      head_ = tail_ = nullptr;
      size_ = 0;
      return;
    }
    consume_nodes(pool, bytes);
  }
  /// Drops all.
  void clear(BlockPool& pool) noexcept { consume(pool, size_); }

 private:
  [[gnu::always_inline]] void link(OutputNode* node) noexcept {
    (tail_ == nullptr ? head_ : tail_->next) = node;
    tail_ = node;
  }
  bool append_to_last(std::string_view bytes) noexcept {
    if (tail_ == nullptr || tail_->room < bytes.size()) return false;
    commit(bytes.copy(tail_->end, bytes.size()));  // unlike memcpy, takes a null view too
    return true;
  }
  void append_to_fresh(BlockPool& pool, std::string_view bytes);
  void consume_nodes(BlockPool& pool, std::size_t bytes) noexcept;
  void drop_reserved() noexcept;

  OutputNode* head_ = nullptr;
  OutputNode* tail_ = nullptr;
  std::size_t size_ = 0;
};

// ---- The inline part of BlockPool ----

struct BlockPool::Block : OutputNode {
  char payload[kBlockBytes];
};

#ifndef LEANTEA_POISON_FREE_BLOCKS
inline void BlockPool::poison(OutputNode*) noexcept {}
inline void BlockPool::unpoison(OutputNode*) noexcept {}
#endif

[[gnu::always_inline]] inline OutputNode* BlockPool::take() {
  auto* block = static_cast<Block*>(free_);
  if (block != nullptr) [[likely]] {
    free_ = block->next;
    --free_count_;
    block->next = nullptr;
    unpoison(block);
  } else {
    block = make_block();
  }
  block->begin = block->end = block->payload;
  block->room = kBlockBytes;
  return block;
}

inline void BlockPool::give(OutputNode* block) noexcept {
  if (free_count_ == kKeep) {
    delete_block(block);
    return;
  }
  block->next = free_;
  free_ = block;
  ++free_count_;
  poison(block);
}

}  // namespace leantea::base

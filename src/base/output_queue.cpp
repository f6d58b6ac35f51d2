#include "base/output_queue.hpp"

#include <utility>

#ifdef LEANTEA_POISON_FREE_BLOCKS
// As <sanitizer/asan_interface.h> has them.
extern "C" void __asan_poison_memory_region(const volatile void* p, std::size_t bytes);    // NOLINT
extern "C" void __asan_unpoison_memory_region(const volatile void* p, std::size_t bytes);  // NOLINT
#endif

namespace leantea::base {
namespace {

struct OwnedNode : OutputNode {
  explicit OwnedNode(std::string&& s) noexcept : bytes(std::move(s)) {
    // After the move: a short string lives inside the object.
    begin = bytes.data();
    end = bytes.data() + bytes.size();
    kind = Kind::kOwned;
  }
  std::string bytes;
};

struct SharedNode : OutputNode {
  SharedNode(std::shared_ptr<const void>&& o, std::string_view bytes) noexcept
      : owner(std::move(o)) {
    begin = bytes.data();
    end = const_cast<char*>(bytes.data() + bytes.size());  // room is 0: never written through
    kind = Kind::kShared;
  }
  std::shared_ptr<const void> owner;
};

}  // namespace

// ---- BlockPool ----

static_assert(sizeof(OutputNode) == 32);

BlockPool::Block* BlockPool::make_block() {
  static_assert(sizeof(Block) + 2 * sizeof(void*) <= 4096);
  return new Block;  // no (): 4 KiB need not be cleared
}

void BlockPool::delete_block(OutputNode* block) noexcept { delete static_cast<Block*>(block); }

#ifdef LEANTEA_POISON_FREE_BLOCKS
void BlockPool::poison(OutputNode* block) noexcept {
  __asan_poison_memory_region(static_cast<Block*>(block)->payload, kBlockBytes);
}

void BlockPool::unpoison(OutputNode* block) noexcept {
  __asan_unpoison_memory_region(static_cast<Block*>(block)->payload, kBlockBytes);
}
#endif

BlockPool::~BlockPool() {
  while (free_ != nullptr) {
    unpoison(free_);
    delete_block(std::exchange(free_, free_->next));
  }
}

// ---- OutputQueue ----

void OutputQueue::append_to_fresh(BlockPool& pool, std::string_view bytes) {
  // The rest of the last block first, so that many small appends fill blocks.
  while (!bytes.empty()) {
    if (tail_ == nullptr || tail_->room == 0) link(pool.take());
    const std::size_t part = bytes.copy(tail_->end, tail_->room);
    commit(part);
    bytes.remove_prefix(part);
  }
}

void OutputQueue::append_owned(std::string&& bytes) {
  if (bytes.empty() || (bytes.size() <= kCopyBytes && append_to_last(bytes))) return;
  link(new OwnedNode(std::move(bytes)));
  size_ += static_cast<std::size_t>(tail_->end - tail_->begin);
}

void OutputQueue::append_shared(std::shared_ptr<const void> owner, std::string_view bytes) {
  if (bytes.empty() || (bytes.size() <= kCopyBytes && append_to_last(bytes))) return;
  link(new SharedNode(std::move(owner), bytes));
  size_ += bytes.size();
}

void OutputQueue::splice(OutputQueue& other) noexcept {
  LEANTEA_ASSERT(&other != this);
  if (other.head_ == nullptr) return;
  (tail_ == nullptr ? head_ : tail_->next) = std::exchange(other.head_, nullptr);
  tail_ = std::exchange(other.tail_, nullptr);
  size_ += std::exchange(other.size_, 0);
}

void OutputQueue::consume_nodes(BlockPool& pool, std::size_t bytes) noexcept {
  LEANTEA_ASSERT(bytes <= size_);
  size_ -= bytes;
  while (head_ != nullptr) {
    const auto here = static_cast<std::size_t>(head_->end - head_->begin);
    // A node goes with its last byte. One with no bytes left but room behind them goes too, the last
    // of the queue included: an empty queue owns nothing.
    if (bytes < here) {
      head_->begin += bytes;
      return;
    }
    bytes -= here;
    OutputNode* node = std::exchange(head_, head_->next);
    switch (node->kind) {
      case OutputNode::Kind::kBlock:
        pool.give(node);
        break;
      case OutputNode::Kind::kOwned:
        delete static_cast<OwnedNode*>(node);
        break;
      case OutputNode::Kind::kShared:
        delete static_cast<SharedNode*>(node);
        break;
    }
  }
  tail_ = nullptr;
}

void OutputQueue::drop_reserved() noexcept {
  LEANTEA_ASSERT(empty());
  // What is left was reserved and never used; the pool is not at hand, so it goes to the heap.
  while (head_ != nullptr) BlockPool::delete_block(std::exchange(head_, head_->next));
}

}  // namespace leantea::base

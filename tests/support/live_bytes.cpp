#include "support/live_bytes.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> live{0};
std::atomic<std::uint64_t> count{0};

[[maybe_unused]] void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  live.fetch_add(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  count.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

[[maybe_unused]] void uncounted(void* memory) noexcept {
  if (memory == nullptr) return;
  live.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

namespace leantea::test {
std::int64_t live_bytes() noexcept { return live.load(std::memory_order_relaxed); }
std::uint64_t allocation_count() noexcept { return count.load(std::memory_order_relaxed); }
}  // namespace leantea::test

// ThreadSanitizer's runtime has these, too, and is linked whole: there nothing is counted.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LEANTEA_COUNTS_NOTHING 1
#endif
#endif
#ifndef LEANTEA_COUNTS_NOTHING
void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new[](std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(std::aligned_alloc(static_cast<std::size_t>(alignment),
                                    (size + static_cast<std::size_t>(alignment) - 1) &
                                        ~(static_cast<std::size_t>(alignment) - 1)));
}
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete[](void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t) noexcept { uncounted(memory); }
void operator delete[](void* memory, std::size_t) noexcept { uncounted(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { uncounted(memory); }
#endif

// GuardedBytes: a copy of some bytes directly at an unreadable page, so that a parser that reads even
// one byte too many ends the test there and then. It sees what AddressSanitizer cannot: reads by
// hand-written SIMD in a release build.
//
// One thread; view() is valid as long as the object.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace leantea::test {

class GuardedBytes {
 public:
  enum class Guard {
    kBehind,  ///< view() ends where the unreadable page begins
    kBefore,  ///< view() begins where the unreadable page ends
  };

  explicit GuardedBytes(std::string_view bytes, Guard guard = Guard::kBehind) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t readable = (bytes.size() + page - 1) / page * page;
    mapped_ = readable + page;
    void* const at =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) std::abort();
    base_ = static_cast<char*>(at);
    char* const unreadable = guard == Guard::kBehind ? base_ + readable : base_;
    char* const begin = guard == Guard::kBehind ? unreadable - bytes.size() : unreadable + page;
    bytes.copy(begin, bytes.size());
    if (mprotect(unreadable, page, PROT_NONE) != 0) std::abort();
    view_ = {begin, bytes.size()};
  }
  ~GuardedBytes() { munmap(base_, mapped_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;

  std::string_view view() const noexcept { return view_; }
  /// The same bytes, to be written to.
  char* data() noexcept { return base_ + (view_.data() - base_); }

 private:
  char* base_ = nullptr;
  std::size_t mapped_ = 0;
  std::string_view view_;
};

}  // namespace leantea::test

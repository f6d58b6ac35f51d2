#include "net/thread_name.hpp"

#include <pthread.h>

namespace leantea::net {

void name_this_thread([[maybe_unused]] const std::string& name) noexcept {
#if defined(__linux__)
  constexpr std::size_t kMost = 15;
  pthread_setname_np(pthread_self(), name.substr(0, kMost).c_str());
#elif defined(__APPLE__)
  pthread_setname_np(name.c_str());
#endif
}

}  // namespace leantea::net

// The poller of this system: epoll on Linux, kqueue on macOS and the BSDs. Both have the same functions
// in the same order, and read side by side (diff poller_epoll.hpp poller_kqueue.hpp).
#pragma once

// LEANTEA_POLLER_KQUEUE is for tests/kqueue, which run the reactor on an emulated kqueue.
#if defined(__linux__) && !defined(LEANTEA_POLLER_KQUEUE)
#include "net/reactor/poller_epoll.hpp"
namespace leantea::net {
using Poller = EpollPoller;
}
#else
#include "net/reactor/poller_kqueue.hpp"
namespace leantea::net {
using Poller = KqueuePoller;
}
#endif

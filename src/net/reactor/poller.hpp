// The poller of this system: epoll on Linux, kqueue on macOS and the BSDs. Both have the same functions
// in the same order, and read side by side (diff poller_epoll.hpp poller_kqueue.hpp).
#pragma once

#ifdef __linux__
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

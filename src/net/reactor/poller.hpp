// SystemPoller: the poller of this system, epoll on Linux, kqueue on macOS and the BSDs.
#pragma once

// LEANTEA_POLLER_KQUEUE is for tests/kqueue, which run the reactor's tests on an emulated kqueue.
#if defined(__linux__) && !defined(LEANTEA_POLLER_KQUEUE)
#include "net/reactor/poller_epoll.hpp"
namespace leantea::net::readiness {
using SystemPoller = EpollPoller;
}
#else
#include "net/reactor/poller_kqueue.hpp"
namespace leantea::net::readiness {
using SystemPoller = KqueuePoller;
}
#endif

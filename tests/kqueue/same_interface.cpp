// The poller that is not of this system offers the loop what the others do: checked by the compiler, nothing runs.
#include "net/reactor/poller_epoll.hpp"
#include "net/reactor/poller_kqueue.hpp"
#include "net/readiness/poller.hpp"

namespace leantea::net::readiness {

static_assert(Poller<EpollPoller>);
static_assert(Poller<KqueuePoller>);

}  // namespace leantea::net::readiness

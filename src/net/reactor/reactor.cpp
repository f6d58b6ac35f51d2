#include "net/reactor/reactor.hpp"

#include "net/loop/loop_backend.hpp"
#include "net/reactor/poller.hpp"
#include "net/readiness/loop_impl.hpp"

namespace leantea::net {

std::unique_ptr<Backend> make_reactor(app::ServerShared& shared, const BackendOptions& options) {
  using Loop = readiness::Loop<readiness::SystemPoller>;
  return std::make_unique<LoopBackend>("reactor", &make_loop<Loop>, shared, options);
}

}  // namespace leantea::net

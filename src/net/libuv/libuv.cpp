#include "net/libuv/libuv.hpp"

#include "net/libuv/poller_libuv.hpp"
#include "net/loop/loop_backend.hpp"
#include "net/readiness/loop_impl.hpp"

namespace leantea::net {

std::unique_ptr<Backend> make_libuv(app::ServerShared& shared, const BackendOptions& options) {
  using Loop = readiness::Loop<readiness::LibuvPoller>;
  return std::make_unique<LoopBackend>("libuv", &make_loop<Loop>, shared, options);
}

}  // namespace leantea::net

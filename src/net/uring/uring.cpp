#include "net/uring/uring.hpp"

#include "net/loop/loop_backend.hpp"
#include "net/uring/loop.hpp"

namespace leantea::net {

std::unique_ptr<Backend> make_uring(app::ServerShared& shared, const BackendOptions& options) {
  return std::make_unique<LoopBackend>("uring", &make_loop<uring::Loop>, shared, options);
}

std::expected<void, std::string> uring_available() { return uring::Ring::available(); }

}  // namespace leantea::net

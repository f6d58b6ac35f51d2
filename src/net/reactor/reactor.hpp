// The backend on readiness as the system tells it: epoll or kqueue.
#pragma once

#include <memory>

#include "net/backend.hpp"

namespace leantea::net {

std::unique_ptr<Backend> make_reactor(app::ServerShared& shared, const BackendOptions& options);

}  // namespace leantea::net

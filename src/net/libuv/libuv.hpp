// The backend on libuv's loop.
#pragma once

#include <memory>

#include "net/backend.hpp"

namespace leantea::net {

std::unique_ptr<Backend> make_libuv(app::ServerShared& shared, const BackendOptions& options);

}  // namespace leantea::net

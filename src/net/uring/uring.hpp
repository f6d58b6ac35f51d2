// The backend on io_uring. uring_available(): any thread.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "net/backend.hpp"

namespace leantea::net {

std::unique_ptr<Backend> make_uring(app::ServerShared& shared, const BackendOptions& options);

/// Nothing where this process may use io_uring and the kernel has all that the backend needs (Linux 6.1);
/// else one line that names the reason. Tries it out: some system calls, well under a millisecond.
std::expected<void, std::string> uring_available();

}  // namespace leantea::net

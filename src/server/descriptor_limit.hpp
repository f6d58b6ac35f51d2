// The process's bound on open files, which is a server's bound on connections.
//
// The limit belongs to the process; raising it is safe from any thread.
#pragma once

#include <cstdint>
#include <string>

namespace leantea::server {

/// Descriptors that a process needs besides its connections: listeners, pollers, logs, the program's own.
inline constexpr std::uint64_t kOtherDescriptors = 64;

/// Raises the soft limit as far as the process may. The limit from then on.
std::uint64_t raise_descriptor_limit() noexcept;

/// Empty when `connections` fit under `limit`; else a line for the log that says what to do.
std::string descriptor_warning(std::uint64_t limit, std::uint32_t connections);

}  // namespace leantea::server

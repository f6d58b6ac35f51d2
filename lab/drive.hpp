// A fixed number of requests, for runs in which something is counted rather than timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace leantea::lab {

/// Opens `connections` connections to 127.0.0.1:port and sends `requests` requests over them, in turns: one on each
/// connection, then all answers. Every answer has to be a 200 of the same size. Throws Failure.
/// REQUIRES: requests is a multiple of connections.
void drive(std::uint16_t port, std::string_view request, std::size_t requests,
           std::size_t connections);

}  // namespace leantea::lab

// The descriptors 0, 1 and 2, when the process was started without them.
//
// The next files that are opened would get these numbers: what the program prints and what the server logs would go
// into a socket of its own, to a client even, or would end the process by SIGPIPE.
#pragma once

namespace leantea::server {

/// Opens /dev/null in place of each standard stream that is closed. To be called before anything else is opened.
void occupy_standard_streams() noexcept;

}  // namespace leantea::server

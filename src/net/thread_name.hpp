// Names for threads, as ps -L, top -H and debuggers show them.
#pragma once

#include <string>

namespace leantea::net {

/// Names the calling thread; Linux keeps the first 15 bytes.
void name_this_thread(const std::string& name) noexcept;

}  // namespace leantea::net

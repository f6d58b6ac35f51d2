// The lab's data files (wrk's scripts, nginx's configuration), compiled into the program so that it runs from
// anywhere.
#pragma once

#include <string_view>

namespace leantea::lab {

/// The text of lab/<name>. Static storage. REQUIRES: the file is listed in lab/CMakeLists.txt.
std::string_view file(std::string_view name);

}  // namespace leantea::lab

// The lab's data files (wrk's scripts, the peers' descriptions and configurations), compiled into the program so that
// it runs from anywhere. Any thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace leantea::lab {

/// The text of lab/<name>. Static storage. REQUIRES: the file is listed in lab/CMakeLists.txt.
std::string_view file(std::string_view name);

/// The same, or nothing when there is no such file.
std::optional<std::string_view> find_file(std::string_view name);

/// The names of all files that begin with `prefix`, such as `peers/`, in alphabetical order.
std::vector<std::string_view> file_names(std::string_view prefix);

}  // namespace leantea::lab

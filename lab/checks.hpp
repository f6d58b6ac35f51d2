// What has to be right before speed is worth measuring: status, fields and content of the answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "servers.hpp"

namespace leantea::lab {

/// The constant content of GET /json.
inline constexpr std::string_view kJson =
    R"({"ok":true,"service":"leantea/bench","build":"release","count":42,"tags":["bench","cpp"]})";

/// Checks the answer of `server` to `path` (/health, /json or /echo; an echo with `content_bytes` bytes), then
/// that the same connection answers again and that two pipelined requests get two answers. Throws Failure which
/// says what is wrong and with which server. The floor is checked for what it promises: status, length and
/// Content-Type of its constant.
void check(const Server& server, std::string_view path, std::size_t content_bytes);

}  // namespace leantea::lab

// What has to be right before speed is worth measuring: status, fields and content of the answers, and that they are of
// one size. Main thread only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "failure.hpp"
#include "servers.hpp"

namespace leantea::lab {

/// The constant contents of GET /health and GET /json.
inline constexpr std::string_view kHealth = "OK";
inline constexpr std::string_view kJson =
    R"({"ok":true,"service":"leantea/bench","build":"release","count":42,"tags":["bench","cpp"]})";

/// A server of the user's does not have a route: it is left out of that load, the others are not.
class RouteMissing : public Failure {
 public:
  using Failure::Failure;
};

/// How large an answer's head is: status line, fields and the empty line.
struct HeadSize {
  std::string server;
  std::string path;
  std::size_t bytes = 0;
};

/// Checks the answers of `server` to `path`: /health, /json, /echo (with `content_bytes` bytes), or /sum (GET, POST
/// with a length, POST in chunks). Then that the same connection answers again, that two pipelined requests get two
/// answers, and that a client of HTTP/1.0 can keep its connection, each unless the plan says that the server cannot.
/// The floor is checked for what it promises: status, length and Content-Type of its constant.
///
/// Throws Failure which says what is wrong and with which server, RouteMissing when a server of the user's answers that
/// it does not know the path.
HeadSize check(const Server& server, std::string_view path, std::size_t content_bytes);

/// Heads that differ by more than this are not called the same: the larger ones cost both sides visible work.
inline constexpr std::size_t kHeadTolerance = 64;

/// A line for each path: how large the heads of the servers' answers are, and that they differ too much where they do.
std::vector<std::string> describe(const std::vector<HeadSize>& sizes);

}  // namespace leantea::lab

#include "checks.hpp"

#include <fmt/format.h>

#include "client.hpp"
#include "failure.hpp"

namespace leantea::lab {
namespace {

/// What an answer must be.
struct Expected {
  std::string_view type;  ///< Content-Type, up to its parameters
  std::string content;
  bool exact = true;  ///< false: only the content's length counts (the floor's constant)
  bool closes = false;
};

std::string request_for(std::string_view path, std::size_t content_bytes) {
  if (path == "/echo") {
    return fmt::format(
        "POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/octet-stream\r\n"
        "Content-Length: {}\r\n\r\n{}",
        content_bytes, std::string(content_bytes, 'x'));
  }
  return fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", path);
}

Expected expected_of(const Server& server, std::string_view path, std::size_t content_bytes) {
  if (path != "/health" && path != "/json" && path != "/echo") {
    throw Failure(fmt::format("{} is not a route of the bench server: /health, /json, /echo", path),
                  kExitUsage);
  }
  const ServerPlan& plan = server.plan();
  const bool floor = plan.kind == Kind::kFloor;
  const bool closes = floor ? plan.floor_mode == FloorMode::kClose : !plan.keep_alive;
  if (path == "/echo") {
    return {.type = "application/octet-stream",
            .content = std::string(content_bytes, 'x'),
            .closes = closes};
  }
  if (floor) {
    return {.type = "text/plain",
            .content = std::string(plan.content_bytes, 'O'),
            .exact = false,
            .closes = closes};
  }
  if (path == "/json")
    return {.type = "application/json", .content = std::string(kJson), .closes = closes};
  return {.type = "text/plain", .content = "OK", .closes = closes};
}

std::string shortened(std::string_view content) {
  return content.size() <= 100
             ? std::string(content)
             : fmt::format("{}… ({} bytes)", content.substr(0, 100), content.size());
}

/// What is wrong with `answer`, or empty.
std::string fault_of(const Answer& answer, const Expected& expected) {
  if (answer.status != 200) return fmt::format("status {}, not 200", answer.status);
  const std::string_view type = answer.field("content-type").value_or("(none)");
  if (!type.starts_with(expected.type))
    return fmt::format("Content-Type {}, not {}", type, expected.type);
  // An origin server with a clock has to send it (RFC 9110 §6.6.1); a server that saves the work is not comparable.
  if (!answer.field("date")) return "no Date field";
  const bool same = expected.exact ? answer.content == expected.content
                                   : answer.content.size() == expected.content.size();
  if (!same)
    return fmt::format("content is {}, not {}", shortened(answer.content),
                       shortened(expected.content));
  return "";
}

}  // namespace

void check(const Server& server, std::string_view path, std::size_t content_bytes) {
  const Expected expected = expected_of(server, path, content_bytes);
  const std::string request = request_for(path, content_bytes);
  try {
    Client client(server.port());
    const auto accept = [&](const Answer& answer) {
      if (const std::string fault = fault_of(answer, expected); !fault.empty())
        throw Failure(fault);
    };
    accept(client.exchange(request));
    if (expected.closes) return;
    accept(client.exchange(request));
    // Two large requests in one write could fill both directions while nobody reads; small ones cannot.
    constexpr std::size_t kSmall = 16 * 1024;
    const bool pipelines =
        server.plan().kind != Kind::kFloor || server.plan().floor_mode != FloorMode::kPlain;
    if (pipelines && request.size() <= kSmall) {
      client.send(request + request);
      accept(client.receive());
      accept(client.receive());
    }
  } catch (const Failure& failure) {
    throw Failure(fmt::format("{} answers {} wrongly: {}", server.name(), path, failure.what()));
  }
}

}  // namespace leantea::lab

#include "checks.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "client.hpp"
#include "failure.hpp"

namespace leantea::lab {
namespace {

/// A request, and what the answer must be.
struct Exchange {
  std::string request;
  std::string_view type;  ///< Content-Type, up to its parameters
  std::string content;
  bool exact = true;  ///< false: only the content's length counts (the floor's constant)
};

constexpr std::array<std::string_view, 4> kRoutes = {"/health", "/json", "/echo", "/sum"};

bool is_users(const ServerPlan& plan) {
  return plan.kind == Kind::kCommand || plan.kind == Kind::kUrl;
}

std::string get(std::string_view target) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", target);
}

std::string post(std::string_view target, std::string_view type, std::string_view content) {
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {}\r\nContent-Length: {}\r\n\r\n{}",
      target, type, content.size(), content);
}

std::string post_in_chunks(std::string_view target, std::string_view content) {
  const std::size_t half = content.size() / 2;
  return fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\nTransfer-Encoding: "
      "chunked\r\n\r\n{:x}\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
      target, half, content.substr(0, half), content.size() - half, content.substr(half));
}

std::vector<Exchange> sums() {
  return {{.request = get("/sum?a=20&b=22"), .type = "text/plain", .content = "42"},
          {.request = post("/sum?a=20&b=22", "text/plain", "25"),
           .type = "text/plain",
           .content = "67"},
          {.request = post_in_chunks("/sum?a=20&b=22", "1000"),
           .type = "text/plain",
           .content = "1042"}};
}

std::vector<Exchange> exchanges_for(const ServerPlan& plan, std::string_view path,
                                    std::size_t content_bytes) {
  if (path == "/sum") return sums();
  if (path == "/echo") {
    const std::string content(content_bytes, 'x');
    constexpr std::string_view kBytes = "application/octet-stream";
    return {{.request = post(path, kBytes, content), .type = kBytes, .content = content}};
  }
  if (plan.kind == Kind::kFloor) {
    return {{.request = get(path),
             .type = "text/plain",
             .content = std::string(plan.content_bytes, 'O'),
             .exact = false}};
  }
  if (path == "/json")
    return {{.request = get(path), .type = "application/json", .content = std::string(kJson)}};
  return {{.request = get(path), .type = "text/plain", .content = std::string(kHealth)}};
}

bool closes(const ServerPlan& plan) {
  return plan.kind == Kind::kFloor ? plan.floor_mode == FloorMode::kClose : !plan.keep_alive;
}

bool pipelines(const ServerPlan& plan) {
  if (plan.kind == Kind::kFloor) return plan.floor_mode != FloorMode::kPlain;
  return !plan.cannot.contains(kPipelinedRequests);
}

/// Of a server of the user's it is not known; a load of ab will show it.
bool keeps_http10(const ServerPlan& plan) {
  if (plan.kind == Kind::kFloor) return plan.floor_mode == FloorMode::kHttp10;
  return !is_users(plan) && !plan.cannot.contains(kHttp10KeepAlive);
}

std::string shortened(std::string_view content) {
  return content.size() <= 100
             ? std::string(content)
             : fmt::format("{}… ({} bytes)", content.substr(0, 100), content.size());
}

/// What is wrong with `answer`, or empty.
std::string fault_of(const Answer& answer, const Exchange& expected) {
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

bool says_route_missing(int status) { return status == 404 || status == 405 || status == 501; }

/// The checks of one server and path.
class Check {
 public:
  Check(const Server& server, std::string_view path, std::size_t content_bytes)
      : server_(server),
        path_(path),
        exchanges_(exchanges_for(server.plan(), path, content_bytes)) {}

  HeadSize run() {
    Client client(server_.port());
    const Answer first = client.exchange(exchanges_.front().request);
    if (is_users(server_.plan()) && says_route_missing(first.status)) {
      throw RouteMissing(fmt::format("{} is left out of {}: it answers with status {}",
                                     server_.name(), path_, first.status));
    }
    accept(first, exchanges_.front());
    if (!closes(server_.plan())) {
      for (const Exchange& exchange : exchanges_)
        accept(client.exchange(exchange.request), exchange);
      if (pipelines(server_.plan())) pipeline(client);
      if (keeps_http10(server_.plan()) && path_ == "/health") keep_http10();
    }
    return {.server = server_.name(),
            .path = std::string(path_),
            .bytes = first.bytes - first.content.size()};
  }

 private:
  static void accept(const Answer& answer, const Exchange& expected) {
    if (const std::string fault = fault_of(answer, expected); !fault.empty()) throw Failure(fault);
  }

  void pipeline(Client& client) const {
    // Two large requests in one write could fill both directions while nobody reads; small ones cannot.
    constexpr std::size_t kSmall = 16 * 1024;
    const Exchange& exchange = exchanges_.front();
    if (exchange.request.size() > kSmall) return;
    client.send(exchange.request + exchange.request);
    try {
      accept(client.receive(), exchange);
      accept(client.receive(), exchange);
    } catch (const Failure& failure) {
      throw Failure(fmt::format("two pipelined requests: {}", failure.what()));
    }
  }

  void keep_http10() const {
    Client client(server_.port());
    const std::string request = ab_request(path_, server_.port());
    try {
      accept(client.exchange(request), exchanges_.front());
      accept(client.exchange(request), exchanges_.front());
    } catch (const Failure& failure) {
      throw Failure(fmt::format("HTTP/1.0 with keep-alive: {}", failure.what()));
    }
  }

  const Server& server_;
  std::string_view path_;
  std::vector<Exchange> exchanges_;
};

}  // namespace

HeadSize check(const Server& server, std::string_view path, std::size_t content_bytes) {
  if (std::ranges::find(kRoutes, path) == kRoutes.end()) {
    throw Failure(
        fmt::format("{} is not a route that is measured: {}", path, fmt::join(kRoutes, ", ")),
        kExitUsage);
  }
  try {
    return Check(server, path, content_bytes).run();
  } catch (const RouteMissing&) {
    throw;
  } catch (const Failure& failure) {
    throw Failure(fmt::format("{} answers {} wrongly: {}", server.name(), path, failure.what()));
  }
}

std::vector<std::string> describe(const std::vector<HeadSize>& sizes) {
  std::vector<std::string> lines;
  for (const std::string_view path : kRoutes) {
    std::vector<std::string> parts;
    std::size_t least = SIZE_MAX;
    std::size_t most = 0;
    for (const HeadSize& size : sizes) {
      if (size.path != path) continue;
      parts.push_back(fmt::format("{} {}", size.server, size.bytes));
      least = std::min(least, size.bytes);
      most = std::max(most, size.bytes);
    }
    if (parts.empty()) continue;
    std::string line =
        fmt::format("bytes of an answer's head on {}: {}", path, fmt::join(parts, ", "));
    if (most - least > kHeadTolerance) {
      line +=
          fmt::format("; more than {} apart: the larger ones pay for what the others do not send",
                      kHeadTolerance);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace leantea::lab

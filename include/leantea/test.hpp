// The test client: calls an application through the whole stack, without a socket and in virtual time.
//
//   test::App app{make_router()};
//   EXPECT_EQ(app.call("GET", "/health").body, "OK");
//
// One thread. Time stands still until something waits for it: a handler's sleep() passes at once, and so
// do timeouts. Offloaded functions run on real worker threads and are waited for.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leantea/limits.hpp>
#include <leantea/router.hpp>

namespace leantea::test {

using Headers = std::vector<std::pair<std::string, std::string>>;

/// What came back.
struct Answer {
  int status = 0;  ///< 0: the connection ended without an answer
  Headers headers;
  std::string body;  ///< decoded: without the chunked coding
  Headers trailers;
  std::vector<int> interim;  ///< status codes of interim responses before it, e.g. 100, 103
  /// The body did not come to the end that its framing promised.
  bool truncated = false;

  /// The value of the first field with this name, compared without case.
  std::optional<std::string_view> header(std::string_view name) const noexcept;
};

/// What is sent besides method and target. Host and Content-Length are added where they are missing.
struct Options {
  Headers headers{};
  std::string body{};
  /// The body is sent as these chunks in place of `body`, with the chunked coding.
  std::vector<std::string> chunks{};
};

class App {
 public:
  /// Compiles the router. Throws std::invalid_argument with Router::problems() where a server would refuse
  /// to start.
  explicit App(Router router, Limits limits = {});
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  /// One request on a connection of its own, and its answer.
  Answer call(std::string_view method, std::string_view target, const Options& options = {});
  /// Any bytes on a connection of its own, and all bytes that come back until it is closed or nothing more
  /// happens.
  std::string exchange(std::string_view bytes);
  /// The log lines so far.
  const std::vector<std::string>& log() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// One request to an application that is not needed any more.
Answer call(Router router, std::string_view method, std::string_view target,
            const Options& options = {});

}  // namespace leantea::test

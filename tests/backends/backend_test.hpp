// BackendTest: a server with one of the backends, and what its handlers tell the test. Every suite that is
// declared with BACKEND_SUITE runs once for each backend of this build.
//
//   BACKEND_SUITE(KeepAlive);
//   TEST_P(KeepAlive, AnswersRequestAfterRequest) {
//     serve();
//     Client client = connect();
//     EXPECT_EQ(client.ask(get("/health")), "200 OK");
//   }
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <leantea/leantea.hpp>

#include "support/client.hpp"
#include "support/sanitized.hpp"

namespace leantea::test {

/// Loops count whole milliseconds, so what is due may come up to one early.
inline constexpr std::chrono::milliseconds kTick = 1ms;

/// What handlers tell the test, and the test tells handlers. Any thread.
struct Stage {
  std::atomic<int> entered{0};              ///< handlers that began
  std::atomic<int> working{0};              ///< functions that a worker has begun
  std::atomic<int> left{0};                 ///< of those: ended, one way or the other
  std::atomic<int> stopped{0};              ///< handlers whose stop token fired
  std::atomic<int> requests{0};             ///< answered by /count
  std::atomic<bool> open{false};            ///< lets the handlers of /hold and /gate go on
  std::atomic<std::uint64_t> bytes_in{0};   ///< content that handlers have taken
  std::atomic<std::uint64_t> bytes_out{0};  ///< content that handlers have written

  /// Counts a handler in for as long as it lives.
  struct Visit {
    explicit Visit(Stage& of) : stage(of) { ++stage.entered; }
    ~Visit() { ++stage.left; }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    Stage& stage;
  };
};

class BackendTest : public testing::TestWithParam<std::string_view> {
 protected:
  BackendTest();
  ~BackendTest() override;

  /// Skips the test where this machine does not let the backend run.
  void SetUp() override;

  /// Starts a server with `app` and `options`. Throws what is wrong where it cannot.
  void serve();
  /// Starts a server whose start is expected to fail; why it did.
  std::string problem_at_start();

  Client connect() const { return Client(server->port()); }
  std::vector<Client> connect(std::size_t count) const;
  /// Waits until the server has let go of every connection.
  bool eventually_no_connections() const;

  std::string_view backend() const { return GetParam(); }
  bool has_loops() const { return backend() != "threads"; }

  std::vector<std::string> log_lines() const;
  bool logged(std::string_view part) const;

  Stage stage;  ///< outlives the server
  ServerOptions options;
  Router app = make_app(stage);
  std::optional<Server> server;

  /// /health, /count; POST /echo, /size; /hold, /gate, POST /gate; /bytes/{count}, /offload/{ms},
  /// /hold-offloaded; /early.
  static Router make_app(Stage& stage);

 private:
  struct Log {
    std::mutex mutex;
    std::vector<std::string> lines;
  };
  std::shared_ptr<Log> log_ = std::make_shared<Log>();
};

std::string backend_name(const testing::TestParamInfo<std::string_view>& info);

/// Descriptors this process may still open.
std::size_t spare_descriptors();

}  // namespace leantea::test

// NOLINTBEGIN(bugprone-macro-parentheses): a class's name
#define BACKEND_SUITE(Name)                                                \
  class Name : public BackendTest {};                                      \
  INSTANTIATE_TEST_SUITE_P(, Name, testing::ValuesIn(leantea::backends()), \
                           leantea::test::backend_name)
// NOLINTEND(bugprone-macro-parentheses)

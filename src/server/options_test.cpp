// What ServerOptions and the environment choose, and what each mistake says.
#include "server/options.hpp"

#include <gtest/gtest.h>

namespace leantea::server {
namespace {

/// "reactor 2", or what is wrong.
std::string choice(const ServerOptions& options, std::string_view environment = {}) {
  const auto chosen = choose_backend(options, environment);
  if (!chosen) return chosen.error();
  return chosen->name + ' ' + std::to_string(chosen->loops);
}

std::string problem(const ServerOptions& options) {
  const auto checked = check_options(options);
  return checked ? "" : checked.error();
}

TEST(Backend, IsTheReactorWhereNothingIsSaid) {
  EXPECT_EQ(choice({}), "reactor 1");
  EXPECT_EQ(choice({.threads = 3}), "reactor 3");
}

TEST(Backend, HasItsLoopsInItsName) {
  EXPECT_EQ(choice({.backend = "uring"}), "uring 1");
  EXPECT_EQ(choice({.backend = "reactor:2"}), "reactor 2");
  EXPECT_EQ(choice({.backend = "reactor:2", .threads = 5}), "reactor 2");
  EXPECT_EQ(choice({.backend = "auto:1024"}), "auto 1024");
}

TEST(Backend, FastIsAnotherNameForThreads) {
  EXPECT_EQ(choice({.backend = "fast"}), "threads 1");
  EXPECT_EQ(choice({.backend = "fast:4"}), "threads 4");
}

TEST(Backend, ComesFromTheEnvironmentWhereTheOptionsSayNothing) {
  EXPECT_EQ(choice({}, "libuv:2"), "libuv 2");
  EXPECT_EQ(choice({.threads = 3}, "libuv"), "libuv 3");
  EXPECT_EQ(choice({.backend = "reactor"}, "libuv:2"), "reactor 1");
  EXPECT_TRUE(choose_backend({}, "libuv")->from_environment);
  EXPECT_FALSE(choose_backend({.backend = "libuv"}, "uring")->from_environment);
}

TEST(Backend, MistakesSayWhatToWrite) {
  for (const std::string text :
       {"reactor:", "reactor:0", "reactor:x", "reactor:2x", "reactor:-1", "reactor: 2",
        "reactor:1025", "reactor:99999999999", "reactor:1:2", ":2"}) {
    EXPECT_EQ(choice({.backend = text}),
              "the backend \"" + text +
                  "\" is not understood: write NAME or NAME:N with 1 to 1024 loops, like "
                  "\"reactor:2\"");
    EXPECT_TRUE(choice({}, text).starts_with("LEANTEA_HTTP_BACKEND: the backend \"" + text));
  }
}

TEST(Addresses, AreHostAndPortWhereThereAreNone) {
  using List = std::vector<std::string>;
  EXPECT_EQ(listen_addresses({}), List{"127.0.0.1:8080"});
  EXPECT_EQ(listen_addresses({.host = "localhost", .port = 0}), List{"localhost:0"});
  EXPECT_EQ(listen_addresses({.host = "", .port = 80}), List{":80"});
  EXPECT_EQ(listen_addresses({.host = "::1", .port = 80}), List{"[::1]:80"});
  EXPECT_EQ(listen_addresses({.host = "[::1]", .port = 80}), List{"[::1]:80"});
  EXPECT_EQ(listen_addresses({.port = 1, .addresses = {"unix:/run/a", ":2"}}),
            (List{"unix:/run/a", ":2"}));
}

TEST(Options, AreFineAsTheyCome) { EXPECT_EQ(problem({}), ""); }

TEST(Options, MistakesNameTheMemberAndSayWhatToUse) {
  EXPECT_EQ(problem({.threads = 0}), "ServerOptions::threads is 0: use 1 to 1024 loops");
  EXPECT_EQ(problem({.threads = 2000}), "ServerOptions::threads is 2000: use 1 to 1024 loops");
  EXPECT_EQ(problem({.connection_threads = 0}),
            "ServerOptions::connection_threads is 0: nobody could be served; use 1 or more");
  EXPECT_EQ(problem({.backlog = 0}),
            "ServerOptions::backlog is 0: no client could wait to be accepted; use 1 or more");
  EXPECT_EQ(problem({.defer_accept_seconds = -1}),
            "ServerOptions::defer_accept_seconds is negative: use 0 to turn it off");
  EXPECT_TRUE(problem({.limits = {.connections = 0}}).starts_with("Limits::connections is 0"));
}

}  // namespace
}  // namespace leantea::server

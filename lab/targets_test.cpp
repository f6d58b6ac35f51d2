// Which servers a command measures, and why others are left out.
#include "targets.hpp"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "failure.hpp"

namespace leantea::lab {
namespace {

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitUsage);
    return failure.what();
  }
  return "no error";
}

std::vector<std::string> names_of(const std::vector<ServerPlan>& plans) {
  std::vector<std::string> names;
  for (const ServerPlan& plan : plans) names.push_back(plan.name);
  return names;
}

TEST(Plans, LeaveOutWhoCannotTakeTheLoad) {
  Targets targets;
  targets.servers = {"nginx", "floor", "ours"};
  std::vector<std::string> left_out;
  const Load sum{.requests = {{.target = "/sum?a=1&b=2"}}};
  EXPECT_EQ(names_of(plans_of(targets, sum, left_out)), std::vector<std::string>{"ours"});
  plans_of(targets, sum, left_out);
  ASSERT_EQ(left_out.size(), 2U) << "a line is said once";
  EXPECT_EQ(left_out[0], "nginx is left out of /sum: nginx cannot add numbers by itself");
}

TEST(Plans, HaveTheFloorsAndOursBesidePeers) {
  Targets targets;
  targets.peers = {"nginx"};
  std::vector<std::string> left_out;
  const auto names = names_of(plans_of(targets, Load{}, left_out));
  for (const char* name : {"nginx", "floor", "ours"})
    EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
  const bool uring = std::ranges::find(names, "floor-uring") != names.end();
  EXPECT_EQ(left_out.empty(), uring) << "it is there, or a line says why not";
  targets.peers = {"apache"};
  EXPECT_NE(error_of([&] { plans_of(targets, Load{}, left_out); }).find("'apache' is not a peer"),
            std::string::npos);
}

TEST(Plans, HaveTheUsersServers) {
  Targets targets;
  targets.commands = {"./a --port {port}", "./b"};
  targets.urls = {"http://127.0.0.1:8080"};
  targets.names = {"first"};
  std::vector<std::string> left_out;
  const auto plans = plans_of(targets, Load{}, left_out);
  EXPECT_EQ(names_of(plans), (std::vector<std::string>{"first", "mine 2", "mine 3"}));
  EXPECT_EQ(plans[0].recipe.words, (std::vector<std::string>{"./a", "--port", "{port}"}));
  EXPECT_EQ(plans[2].port, 8080);
  EXPECT_EQ(error_of([&] { require_server(plans[0]); }), "--command: ./a is no program");
  targets.names = {"1", "2", "3", "4"};
  EXPECT_EQ(error_of([&] { plans_of(targets, Load{}, left_out); }),
            "--name has no --command or --url to belong to");
}

TEST(Plans, HaveDifferentNames) {
  Targets targets;
  targets.servers = {"floor", "floor"};
  EXPECT_THROW(plans_of(targets, Load{}), Failure);
  targets.servers = {"floor"};
  targets.urls = {"http://127.0.0.1:8080"};
  targets.names = {"floor"};
  EXPECT_THROW(plans_of(targets, Load{}), Failure) << "ratios go by name";
}

TEST(CommandWords, AreCutAsAShellCuts) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(command_words("./server --port {port}"), (Words{"./server", "--port", "{port}"}));
  EXPECT_EQ(command_words("  a  'b c' \"d 'e\" f\\ g ''"), (Words{"a", "b c", "d 'e", "f g", ""}));
  EXPECT_EQ(command_words("sh -c 'x=\"1 2\"; run'"), (Words{"sh", "-c", "x=\"1 2\"; run"}));
  EXPECT_EQ(error_of([] { command_words("a 'b"); }), "--command a 'b: a ' that does not end");
  EXPECT_EQ(error_of([] { command_words("  "); }), "--command is empty");
}

TEST(PortOfUrl, TakesServersOfThisMachine) {
  EXPECT_EQ(port_of_url("http://127.0.0.1:8080"), 8080);
  EXPECT_EQ(port_of_url("http://localhost:80/"), 80);
  for (const char* url : {"http://example.org:80", "https://127.0.0.1:1", "http://127.0.0.1",
                          "http://127.0.0.1:0", "http://127.0.0.1:80/x", "http://127.0.0.1:99999"})
    EXPECT_NE(error_of([&] { port_of_url(url); }), "no error") << url;
}

}  // namespace
}  // namespace leantea::lab

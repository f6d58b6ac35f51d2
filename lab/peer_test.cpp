// Reading descriptions of peers, and the peers that are installed.
#include "peer.hpp"

#include <signal.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "checks.hpp"
#include "client.hpp"
#include "failure.hpp"
#include "servers.hpp"
#include "targets.hpp"
#include "temporary.hpp"

namespace leantea::lab {
namespace {

constexpr std::string_view kLeast =
    "title = 'X'\nprogram = ['x']\nversion = ['x', '-v']\ncommand = ['{program}', '{port}']\n";

std::string error_of(const std::string& text) {
  try {
    read_peer(text, "x");
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitUsage);
    return failure.what();
  }
  return "no error";
}

std::string error_behind(std::string_view lines) {
  return error_of(std::string(kLeast) + std::string(lines));
}

TEST(ReadPeer, TakesADescription) {
  const Peer peer =
      read_peer(std::string(kLeast) +
                    "debian = ['x-bin']\nfiles = ['nginx.conf']\n"
                    "most_connections = 9\nwarm_up = 0.5\n[texts]\n'www/a' = '{health}'\n"
                    "[cannot]\n'/echo' = 'it is mute'\n",
                "x");
  EXPECT_EQ(peer.name, "x");
  EXPECT_EQ(peer.debian, std::vector<std::string>{"x-bin"});
  EXPECT_EQ(peer.recipe.words.back(), "{port}") << "filled in when it is started";
  EXPECT_EQ(peer.recipe.files.at("www/a"), "{health}");
  EXPECT_TRUE(peer.recipe.files.contains("nginx.conf"));
  EXPECT_EQ(peer.most_connections, 9U);
  EXPECT_EQ(peer.warm_up, std::chrono::milliseconds(500));
  EXPECT_EQ(peer.cannot.at("/echo"), "it is mute");
}

TEST(ReadPeer, MistakesHaveTheirLine) {
  EXPECT_EQ(error_of("title = 'X'\nprogram = ['x']\nversion = ['x']\n"),
            "lab/peers/x.toml, line 1: command is missing");
  EXPECT_EQ(error_behind("titel = 'X'\n").substr(0, 46),
            "lab/peers/x.toml, line 5: titel is not known h");
  EXPECT_EQ(error_behind("debian = 'nginx'\n"),
            "lab/peers/x.toml, line 5: debian must be a list of texts");
  EXPECT_EQ(error_behind("files = ['no-such.conf']\n"),
            "lab/peers/x.toml, line 5: there is no lab/peers/no-such.conf");
  EXPECT_EQ(error_behind("[texts]\na = '{prot}'\n").substr(0, 60),
            "lab/peers/x.toml, line 6: {prot} stands for nothing here. Th");
  EXPECT_EQ(error_behind("[cannot]\n\n'/ehco' = 'why'\n").substr(0, 62),
            "lab/peers/x.toml, line 7: /ehco is nothing that is measured. T");
  EXPECT_EQ(error_behind("[cannot]\n'/echo' = true\n"),
            "lab/peers/x.toml, line 6: /echo must be a text");
  EXPECT_EQ(error_behind("warm_up = 61\n"),
            "lab/peers/x.toml, line 5: warm_up must be from 0 to 60 seconds");
  EXPECT_EQ(error_behind("most_connections = -1\n"),
            "lab/peers/x.toml, line 5: most_connections must not be negative");
  EXPECT_EQ(error_of("title = 'X'\nprogram = ['{nmp}/x']\n").substr(0, 40),
            "lab/peers/x.toml, line 2: {nmp} stands f");
}

TEST(Filled, ReplacesWordsBetweenBraces) {
  const Placeholders values{{"port", "80"}, {"json", R"({"a":1})"}};
  EXPECT_EQ(filled("listen {port};", values), "listen 80;");
  EXPECT_EQ(filled("{port}{port} {json}", values), R"(8080 {"a":1})");
  EXPECT_EQ(filled("http { server { } } {", values), "http { server { } } {");
  EXPECT_EQ(filled("`${port}` {} {Port} {a b}", values), "`${port}` {} {Port} {a b}");
  EXPECT_EQ(filled("{port", values), "{port");
  EXPECT_THROW(filled("{prot}", values), Failure);
}

TEST(VersionNumber, IsTheFirstOneWithADot) {
  EXPECT_EQ(version_number("nginx version: nginx/1.22.1\n"), "1.22.1");
  EXPECT_EQ(version_number("h2o version 2.2.5\nOpenSSL: 3.0"), "2.2.5");
  EXPECT_EQ(version_number("v20.20.2"), "20.20.2");
  EXPECT_EQ(version_number("HAProxy version 2.6.12-1+deb12u4 2025/12/25"), "2.6.12-1+deb12u4");
  EXPECT_EQ(version_number("version 7, of 2026."), "");
  EXPECT_EQ(version_number(""), "");
}

TEST(Peers, AreAllReadable) {
  EXPECT_GE(all_peers().size(), 11U);
  ASSERT_NE(find_peer("nginx"), nullptr);
  EXPECT_EQ(find_peer("apache"), nullptr);
  for (const Peer& peer : all_peers()) {
    EXPECT_FALSE(peer.debian.empty() && peer.npm.empty()) << peer.name << " comes from nowhere";
    EXPECT_FALSE(how_to_install(peer).empty());
  }
}

TEST(Peers, AreChosenByName) {
  EXPECT_EQ(peers_named({}).size(), all_peers().size());
  EXPECT_EQ(peers_named({"nginx", "all"}).size(), all_peers().size());
  EXPECT_EQ(peers_named({"h2o", "nginx", "h2o"}).size(), 2U);
  EXPECT_THROW(peers_named({"apache"}), Failure);
}

using Route = std::pair<std::string_view, std::string_view>;
constexpr Route kRoutes[] = {{"/health", "text/plain"},
                             {"/json", "application/json"},
                             {"/echo", "application/octet-stream"},
                             {"/sum", "text/plain"}};

/// What every answer's head has, beside the value of Content-Type.
constexpr std::size_t kLeastHead = std::string_view(
                                       "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
                                       "Content-Type: \r\nContent-Length: 2\r\n\r\n")
                                       .size();

/// Each peer; those that are not installed are skipped.
class InstalledPeer : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (program_of(peer()).empty()) GTEST_SKIP() << "not installed; " << how_to_install(peer());
  }
  static const Peer& peer() { return *find_peer(GetParam()); }

  TemporaryDirectory directory_;
};

TEST_P(InstalledPeer, AnswersRightlyAndLeavesNothing) {
  std::vector<pid_t> pids;
  {
    const ServerPlan plan = peer_plan({}, peer().name);
    Server server(plan, directory_.path());
    for (const auto& [path, type] : kRoutes) {
      if (peer().cannot.contains(path)) continue;
      const HeadSize size = check(server, path, 1000);
      EXPECT_LE(size.bytes, kLeastHead + type.size() + kHeadTolerance) << path;
    }
    pids = server.processes();
    EXPECT_FALSE(pids.empty());
    EXPECT_GT(server.memory().resident, 0U);
    server.must_run();
  }
  for (const pid_t pid : pids) EXPECT_NE(::kill(pid, 0), 0) << pid << " still runs";
  EXPECT_NE(version_of(peer()), "unknown");
}

TEST_P(InstalledPeer, TakesAsManyConnectionsAsItIsToldTo) {
  ServerPlan plan = peer_plan({}, peer().name);
  plan.connections = 300;
  const Server server(plan, directory_.path());
  std::vector<Client> clients;
  while (clients.size() < 300) clients.emplace_back(server.port());
  const std::string request = wrk_request("/health", server.port());
  for (Client& client : clients) client.send(request);
  for (Client& client : clients) EXPECT_EQ(client.receive().content, kHealth);
}

INSTANTIATE_TEST_SUITE_P(Peers, InstalledPeer, testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const Peer& peer : all_peers()) names.push_back(peer.name);
                           return names;
                         }()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace leantea::lab

#include "scenario.hpp"

#include <algorithm>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "failure.hpp"
#include "temporary.hpp"

namespace leantea::lab {
namespace {

constexpr std::string_view kSmallest =
    "title = 't'\ndescription = 'd'\nconnections = [1]\n[[request]]\ntarget = '/x'\n";

std::string error_of(std::string_view text) {
  try {
    parse_scenarios(text, "mine");
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no error";
}

/// The smallest scenario with `line` put before its request.
std::string with(std::string_view line) {
  std::string text(kSmallest);
  return text.insert(text.find("[[request]]"), std::string(line) + "\n");
}

TEST(Scenarios, ThoseOfTheLabAreReadAndHaveDifferentNames) {
  std::set<std::string> names;
  for (const Scenario& scenario : all_scenarios()) {
    EXPECT_TRUE(names.insert(scenario.name).second) << scenario.name;
    EXPECT_FALSE(scenario.description.empty());
    EXPECT_NE(list_scenarios().find(scenario.name), std::string::npos);
  }
  for (const char* name :
       {"health", "json", "echo-5", "echo-1k", "echo-64k", "echo-1m", "browser-headers",
        "pipelined-16", "new-connection", "reconnect-10", "mix", "connections-1", "connections-64",
        "connections-512", "connections-2000", "idle-15k", "paced", "slow-reader"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(Scenarios, AreFoundByNameBySetAndByFile) {
  const TemporaryDirectory directory;
  const std::string mine = directory.path() + "/mine.toml";
  std::ofstream(mine) << kSmallest;
  const auto found = find_scenarios({"pipelined-16", "quick", "health", mine});
  ASSERT_GE(found.size(), 4U);
  EXPECT_EQ(found.front().name, "pipelined-16");
  EXPECT_EQ(found.back().name, "mine");
  EXPECT_EQ(std::ranges::count(found, "health", &Scenario::name), 1) << "once, though named twice";
  EXPECT_EQ(find_scenarios({"all"}).size(), all_scenarios().size());
  EXPECT_THROW(find_scenarios({"helth"}), Failure);
  EXPECT_THROW(find_scenarios({directory.path() + "/none.toml"}), Failure);
}

TEST(Scenarios, SeveralNumbersOfConnectionsMakeSeveralScenarios) {
  const auto all = parse_scenarios(
      "title = 't'\ndescription = 'd'\nconnections = [1, 64]\n[[request]]\ntarget = '/x'\n",
      "mine");
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].name, "mine-64");
  EXPECT_EQ(all[1].title, "t, 64 connections");
  EXPECT_EQ(all[1].load.connections, 64);
}

TEST(Scenarios, AMistakeIsNamedWithItsLine) {
  EXPECT_EQ(error_of(kSmallest), "no error");
  EXPECT_EQ(error_of(with("conections = [1]")).substr(0, 54),
            "mine.toml, line 4: conections is not known here. There");
  EXPECT_EQ(error_of(with("kind = 'fast'")),
            "mine.toml, line 4: kind must be throughput, paced, idle or slow-reader");
  EXPECT_EQ(error_of(with("pipeline = 0")), "mine.toml, line 4: pipeline must be from 1 to 1000");
  EXPECT_EQ(error_of(with("tool = 'h2load'")), "mine.toml, line 4: tool must be wrk or ab");
  EXPECT_EQ(error_of(with("kind = 'paced'")), "mine.toml, line 1: a paced scenario needs shares");
  EXPECT_EQ(error_of(with("kind = 'slow-reader'")),
            "mine.toml, line 1: a slow-reader scenario needs slow-readers");
  EXPECT_EQ(error_of(with("sets = ['fast']")),
            "mine.toml, line 4: 'fast' is no set: quick, standard");
  EXPECT_EQ(error_of(with("tool = 'ab'\npipeline = 2")),
            "mine.toml, line 6: ab takes one request, not pipelined and not in chunks");
  EXPECT_EQ(error_of("title = 't'\ndescription = 'd'\nconnections = [1]\n"),
            "mine.toml, line 1: there is no [[request]]");
  EXPECT_EQ(
      error_of("title = 't'\ndescription = 'd'\nconnections = []\n[[request]]\ntarget = '/'\n"),
      "mine.toml, line 3: connections must be a list of at least one");
  EXPECT_EQ(error_of(std::string(kSmallest) + "fields = ['no colon']\n"),
            "mine.toml, line 6: 'no colon' is not of the form Name: value");
  EXPECT_EQ(error_of(std::string(kSmallest) + "content = 'a'\ncontent-bytes = 3\n"),
            "mine.toml, line 7: content and content-bytes exclude each other");
}

TEST(Scenarios, ADescriptionShowsWhatIsSent) {
  const std::string text = describe_scenarios({"mix"});
  EXPECT_NE(text.find("GET /sum?a=13&b=42"), std::string::npos) << text;
  EXPECT_NE(text.find("2 bytes of content, in chunks"), std::string::npos) << text;
}

}  // namespace
}  // namespace leantea::lab

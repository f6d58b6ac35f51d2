#include "app/text_table.hpp"

#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/guarded_bytes.hpp"

namespace leantea::app {
namespace {

constexpr std::uint32_t kNone = TextTable::kNone;

TextTable table_of(const std::vector<TextTable::Entry>& entries) { return TextTable(entries); }

TEST(TextTable, IsEmptyAtFirst) {
  const TextTable table;
  EXPECT_EQ(table.find(0, ""), kNone);
  EXPECT_EQ(table.find(0, "/health"), kNone);
}

TEST(TextTable, FindsWhatIsInIt) {
  const TextTable table = table_of({{0, "/health", 1}, {0, "/json", 2}, {0, "/", 3}, {0, "", 4}});
  EXPECT_EQ(table.find(0, "/health"), 1u);
  EXPECT_EQ(table.find(0, "/json"), 2u);
  EXPECT_EQ(table.find(0, "/"), 3u);
  EXPECT_EQ(table.find(0, ""), 4u);
  EXPECT_EQ(table.find(0, "/healthy"), kNone);
  EXPECT_EQ(table.find(0, "/Health"), kNone);
}

TEST(TextTable, KeepsScopesApart) {
  const TextTable table = table_of({{0, "users", 1}, {1, "users", 2}});
  EXPECT_EQ(table.find(0, "users"), 1u);
  EXPECT_EQ(table.find(1, "users"), 2u);
  EXPECT_EQ(table.find(2, "users"), kNone);
}

TEST(TextTable, ComparesEveryByteOfEveryLength) {
  for (std::size_t size = 1; size <= 64; ++size) {
    const std::string text(size, 'a');
    const TextTable table = table_of({{0, text, 7}});
    EXPECT_EQ(table.find(0, text), 7u);
    EXPECT_EQ(table.find(0, text + 'a'), kNone);
    EXPECT_EQ(table.find(0, text.substr(1)), kNone);
    for (std::size_t at = 0; at < size; ++at) {
      std::string other = text;
      other[at] = 'b';
      EXPECT_EQ(table.find(0, other), kNone) << other;
    }
  }
}

TEST(TextTable, ReadsNothingBehindTheText) {
  const TextTable table = table_of({{0, "/health", 1}, {0, "/a/rather/long/path/here", 2}});
  for (const std::string_view text : {"/", "/a", "/ab", "/abc", "/abcd", "/health", "/abcdefg",
                                      "/abcdefghijklmn", "/a/rather/long/path/here"}) {
    const test::GuardedBytes guarded{text};
    EXPECT_EQ(table.find(0, guarded.view()), table.find(0, std::string(text)));
  }
}

TEST(TextTable, EqualsAMapOnRandomTexts) {
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    // Few letters and few lengths, so that texts share their ends and differ in the middle.
    const auto text = [&random] {
      std::string made(random() % 40, 'a');
      for (char& c : made) c = static_cast<char>('a' + random() % 2);
      return made;
    };
    std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> map;
    for (int i = 0; i < 200; ++i)
      map.try_emplace({random() % 3, text()}, static_cast<std::uint32_t>(i));
    std::vector<TextTable::Entry> entries;
    for (const auto& [key, value] : map) entries.push_back({key.first, key.second, value});
    const TextTable table = table_of(entries);
    for (const auto& [key, value] : map) ASSERT_EQ(table.find(key.first, key.second), value);
    for (int i = 0; i < 500; ++i) {
      const std::pair<std::uint32_t, std::string> key{random() % 4, text()};
      const auto found = map.find(key);
      ASSERT_EQ(table.find(key.first, key.second), found == map.end() ? kNone : found->second);
    }
  }
}

}  // namespace
}  // namespace leantea::app

#include "toml_file.hpp"

#include <gtest/gtest.h>

#include "failure.hpp"

namespace leantea::lab {
namespace {

std::string error_of(const auto& read) {
  try {
    read();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), kExitUsage);
    return failure.what();
  }
  return "no error";
}

TomlTable parse(std::string_view text) { return TomlTable::parse(text, "thing.toml"); }

TEST(TomlTable, ReadsValuesOfEachType) {
  const TomlTable table = parse(
      "name = 'health'\ncount = 3\nshare = 0.5\nwhole = 2\nyes = true\n"
      "words = ['a', 'b']\nnumbers = [1, 2]\nrates = [0.25, 1]\n"
      "[inner]\nx = 1\n[[each]]\nx = 2\n[[each]]\nx = 3\n");
  EXPECT_EQ(table.text("name"), "health");
  EXPECT_EQ(table.integer("count"), 3);
  EXPECT_DOUBLE_EQ(table.number_or("share", 0), 0.5);
  EXPECT_DOUBLE_EQ(table.number_or("whole", 0), 2);
  EXPECT_TRUE(table.truth_or("yes", false));
  EXPECT_EQ(table.texts("words"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(table.integers("numbers"), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(table.numbers("rates"), (std::vector<double>{0.25, 1}));
  ASSERT_TRUE(table.table("inner"));
  EXPECT_EQ(table.table("inner")->integer("x"), 1);
  ASSERT_EQ(table.tables("each").size(), 2U);
  EXPECT_EQ(table.tables("each")[1].integer("x"), 3);
}

TEST(TomlTable, MissingKeysHaveTheirDefault) {
  const TomlTable table = parse("");
  EXPECT_EQ(table.text_or("name", "none"), "none");
  EXPECT_EQ(table.integer_or("count", 7), 7);
  EXPECT_DOUBLE_EQ(table.number_or("share", 1.5), 1.5);
  EXPECT_FALSE(table.truth_or("yes", false));
  EXPECT_TRUE(table.texts("words").empty());
  EXPECT_TRUE(table.tables("each").empty());
  EXPECT_FALSE(table.table("inner"));
}

TEST(TomlTable, ErrorsNameTheFileAndTheLine) {
  EXPECT_EQ(error_of([] { parse("\nname = \n"); }).substr(0, 19), "thing.toml, line 2:");
  EXPECT_EQ(error_of([] { parse("\n\ncount = 'x'\n").integer("count"); }),
            "thing.toml, line 3: count must be an integer");
  EXPECT_EQ(error_of([] { parse("words = [1]").texts("words"); }),
            "thing.toml, line 1: words must be a list of texts");
  EXPECT_EQ(error_of([] { parse("inner = 1").table("inner"); }),
            "thing.toml, line 1: inner must be a table");
  EXPECT_EQ(error_of([] { parse("a = 1").text("name"); }), "thing.toml, line 1: name is missing");
}

TEST(TomlTable, RejectsAKeyThatNobodyKnows) {
  EXPECT_EQ(error_of([] { parse("name = 'x'\nnmae = 'y'").allow_only({"name", "title"}); }),
            "thing.toml, line 2: nmae is not known here. There are: name, title");
}

TEST(TomlTable, APartOutlivesTheWhole) {
  const TomlTable inner = *parse("[inner]\nname = 'kept'").table("inner");
  EXPECT_EQ(inner.text("name"), "kept");
}

}  // namespace
}  // namespace leantea::lab

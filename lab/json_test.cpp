#include "json.hpp"

#include <string>

#include <gtest/gtest.h>

#include "failure.hpp"

namespace leantea::lab {
namespace {

std::string failure_of(std::string_view text, int first_line = 1) {
  try {
    parse_json(text, "data.json", first_line);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no failure";
}

TEST(JsonValue, HasWhatWasWritten) {
  const JsonValue value =
      parse_json(R"({"name": "tea \u00e9\n", "cups": 2.5, "hot": true, "of": ["a", [1]]})", "x");
  EXPECT_EQ(value["name"].text(), "tea é\n");
  EXPECT_EQ(value["cups"].number(), 2.5);
  EXPECT_EQ(value["hot"].boolean(), true);
  ASSERT_EQ(value["of"].elements().size(), 2U);
  EXPECT_EQ(value["of"].elements()[0].text(), "a");
  EXPECT_EQ(value["of"].elements()[1].elements()[0].number(), 1);
  EXPECT_EQ(value.members().size(), 4U);
  EXPECT_EQ(value.members()[1].first, "cups");
}

TEST(JsonValue, WhatIsMissingIsEmptyHoweverDeepOneAsks) {
  const JsonValue value = parse_json(R"({"a": {"b": null}, "text": "1"})", "x");
  EXPECT_FALSE(value["a"]["b"]["c"]["d"].number());
  EXPECT_TRUE(value["nowhere"].is_null());
  EXPECT_TRUE(value["nowhere"].elements().empty());
  EXPECT_FALSE(value["text"].number()) << "a text is not a number";
  EXPECT_FALSE(value["a"].text());
}

TEST(JsonValue, IsWrittenAgainWithoutAChange) {
  // Numbers with more digits than a double has, or in another notation, are copied as they are.
  const std::string text =
      R"({"date":1764630600000,"tiny":1.50e-12,"long":0.1234567890123456789,"list":[null,true,{}]})";
  EXPECT_EQ(in_one_line(parse_json(text, "x")), text);
  Json json;
  json.object([&] { json.field("copy", parse_json("[1.50e-12, \"ü\"]", "x")); });
  EXPECT_EQ(in_one_line(parse_json(json.text(), "x")), "{\"copy\":[1.50e-12,\"ü\"]}");
}

TEST(ParseJson, NamesFileLineAndColumnOfAMistake) {
  EXPECT_TRUE(failure_of("{\n  \"a\": 1,\n  \"b\": tru\n}").starts_with("data.json:3:"))
      << failure_of("{\n  \"a\": 1,\n  \"b\": tru\n}");
  EXPECT_TRUE(failure_of("{\"a\"", 12).starts_with("data.json:12:5: this is no valid JSON"))
      << failure_of("{\"a\"", 12);
}

TEST(ParseJson, RefusesWhatIsNoJson) {
  for (const std::string_view text :
       {"", " ", "{", "[1,]", "{\"a\":1}{", "nul", "01", "\"\xff\"", "'a'", "NaN"}) {
    EXPECT_NE(failure_of(text), "no failure") << text;
  }
  EXPECT_NE(failure_of(std::string_view("\"\0\"", 3)), "no failure");
}

TEST(ParseJson, RefusesWhatIsNestedTooDeeply) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_NE(failure_of(deep).find("nested too deeply"), std::string::npos) << failure_of(deep);
  EXPECT_EQ(failure_of(std::string(100, '[') + std::string(100, ']')), "no failure");
}

}  // namespace
}  // namespace leantea::lab

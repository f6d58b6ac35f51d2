// How patterns are taken apart, and what each mistake in one says to the user.
#include "app/route_pattern.hpp"

#include <gtest/gtest.h>

namespace leantea::app {
namespace {

/// The segments as "literal", "{parameter}" and "{rest...}", or what is wrong.
std::string parsed(std::string_view pattern) {
  const auto result = parse_route_pattern(pattern);
  if (!result) return result.error();
  std::string text;
  for (const PatternSegment& segment : result->segments) {
    if (!text.empty()) text += ' ';
    switch (segment.kind) {
      case PatternSegment::Kind::kLiteral:
        text.append("'").append(segment.text).append("'");
        break;
      case PatternSegment::Kind::kParameter:
        text.append("{").append(segment.text).append("}");
        break;
      case PatternSegment::Kind::kRest:
        text.append("{").append(segment.text).append("...}");
        break;
    }
  }
  return text;
}

std::string shape(std::string_view pattern) { return parse_route_pattern(pattern)->shape(); }

TEST(RoutePattern, IsSegmentsBehindSlashes) {
  EXPECT_EQ(parsed("/"), "''");
  EXPECT_EQ(parsed("/health"), "'health'");
  EXPECT_EQ(parsed("/a/b"), "'a' 'b'");
  EXPECT_EQ(parsed("/a/"), "'a' ''");
  EXPECT_EQ(parsed("/users/{id}/posts"), "'users' {id} 'posts'");
  EXPECT_EQ(parsed("/files/{path...}"), "'files' {path...}");
  EXPECT_EQ(parsed("/{a_1}"), "{a_1}");
}

TEST(RoutePattern, MayHoldWhatADecodedPathMayHold) {
  EXPECT_EQ(parsed("/grüner tee"), "'grüner tee'");
  EXPECT_EQ(parsed("/a%2Fb"), "'a%2Fb'");
  EXPECT_EQ(parsed("/100%"), "'100%'");
  EXPECT_EQ(parsed("/..."), "'...'");
}

TEST(RoutePattern, IsLiteralWithoutParameters) {
  EXPECT_TRUE(parse_route_pattern("/a/b")->literal());
  EXPECT_FALSE(parse_route_pattern("/a/{b}")->literal());
  EXPECT_FALSE(parse_route_pattern("/{b...}")->literal());
}

TEST(RoutePattern, HasTheShapeThatItMatches) {
  EXPECT_EQ(shape("/users/{id}"), shape("/users/{name}"));
  EXPECT_NE(shape("/users/{id}"), shape("/users/{id...}"));
  EXPECT_NE(shape("/users/{id}"), shape("/users/{id}/"));
}

TEST(RoutePattern, MistakesSayWhatToChange) {
  EXPECT_EQ(parsed("health"), "does not begin with '/': write \"/health\"");
  EXPECT_EQ(parsed(""), "does not begin with '/': write \"/\"");
  EXPECT_EQ(parsed("/{}"), "has empty braces: give the parameter a name, like {id}");
  EXPECT_EQ(parsed("/{...}"), "has empty braces: give the parameter a name, like {id}");
  EXPECT_EQ(parsed("/{user-id}"),
            "has the parameter name \"user-id\": use letters, digits and '_', not beginning with a "
            "digit");
  EXPECT_EQ(
      parsed("/{1}"),
      "has the parameter name \"1\": use letters, digits and '_', not beginning with a digit");
  EXPECT_EQ(parsed("/{id}/x/{id}"), "has the parameter {id} twice: give each a name of its own");
  EXPECT_EQ(parsed("/{rest...}/x"),
            "has something behind \"{rest...}\": the rest of a path ends the pattern, remove what "
            "follows it");
  EXPECT_EQ(parsed("/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}"),
            "has 9 parameters: use at most 8, or take the rest of the path as one {rest...}");
  for (const auto* pattern : {"/{name}.json", "/v{n}", "/{id", "/id}", "/{", "/a{b}c"})
    EXPECT_TRUE(parsed(pattern).ends_with(": a parameter is a whole segment, like /{name}"))
        << parsed(pattern);
}

TEST(RoutePattern, WhatNoPathHoldsIsAMistake) {
  EXPECT_EQ(parsed("/a?b=1"),
            "has a '?': a pattern is a path alone, take the query from Request::query_param()");
  EXPECT_EQ(parsed("/a#b"), "has a '#': a fragment is never sent to a server, remove it");
  EXPECT_EQ(parsed("/a/../b"),
            "has the dot segment \"..\": paths are normalised before they are matched, remove it");
  EXPECT_EQ(parsed("/."),
            "has the dot segment \".\": paths are normalised before they are matched, remove it");
  EXPECT_EQ(parsed("/a\tb"), "has a control character: no path has one, remove it");
  EXPECT_EQ(parsed("/a%20b"),
            "has \"%20\": paths are percent-decoded before they are matched, write the character "
            "itself");
  EXPECT_EQ(parsed("/a%2fb"), "has \"%2f\": write \"%2F\"");
}

}  // namespace
}  // namespace leantea::app

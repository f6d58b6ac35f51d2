// RFC 9112 §5, RFC 9110 §5: field lines.
#include "conformance/rule.hpp"

namespace leantea::test {
namespace {

TEST(Fields, AreTokenColonValue) {
  const Rule rules[] = {
      {"9112 §5", "white space around the value is none of it", get("X: \t a \t\r\n"),
       "200 OK / open"},
      {"9110 §5.5", "an empty value", get("X:\r\n"), "200 OK / open"},
      {"9110 §5.5", "a high byte in a value", get("X: \xc3\xa9\r\n"), "200 OK / open"},
      {"9112 §5.1", "a space before the colon", get("X : a\r\n"), kRefused},
      {"9112 §5", "no colon", get("X\r\n"), kRefused},
      {"9112 §5", "no name", get(": a\r\n"), kRefused},
      {"9110 §5.6.2", "a name that is no token", get("X(y): a\r\n"), kRefused},
      {"9110 §5.6.2", "a high byte in a name", get("X\xc3\xa9: a\r\n"), kRefused},
      {"9112 §5.2", "a folded line", get("X: a\r\n b\r\n"), kRefused},
      {"9112 §2.2", "white space before the first field",
       "GET /health HTTP/1.1\r\n X: a\r\nHost: a\r\n\r\n", kRefused},
      {"9110 §5.5", "a NUL", get(std::string_view("X: a\0b\r\n", 8)), kRefused},
      {"9110 §5.5", "a control character",
       get("X: a\x07"
           "b\r\n"),
       kRefused},
      {"9110 §5.5", "DEL", get("X: a\x7f\r\n"), kRefused},
      {"9112 §2.2", "a bare CR", get("X: a\rb\r\n"), kRefused},
      {"9112 §2.2", "a bare LF", get("X: a\nY: b\r\n"), kRefused},
  };
  expect_rules(rules);
}

TEST(Fields, AreBounded) {
  Wire wire(bench_app());
  EXPECT_EQ(wire.receive(get("X: " + std::string(4096, 'x') + "\r\n")).answers(), "200 OK");
  EXPECT_EQ(wire.receive(get("X: " + std::string(17'000, 'x') + "\r\n")).answers(),
            "431 Request Header Fields Too Large");
  std::string many;
  for (int i = 0; i < 101; ++i) many += "X: y\r\n";
  EXPECT_EQ(Wire(bench_app()).receive(get(many)).answers(), "431 Request Header Fields Too Large");
}

}  // namespace
}  // namespace leantea::test

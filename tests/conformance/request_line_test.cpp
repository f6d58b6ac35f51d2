// RFC 9112 §2, §3: the request line, its version, and bytes that are no HTTP.
#include "conformance/rule.hpp"

namespace leantea::test {
namespace {

TEST(RequestLine, HasOneShape) {
  const Rule rules[] = {
      {"9112 §3", "method, target and version, a space between each", get(), "200 OK / open"},
      {"9112 §3", "two spaces", get("", "GET  /health HTTP/1.1"), kRefused},
      {"9112 §3", "two spaces before the version", get("", "GET /health  HTTP/1.1"), kRefused},
      {"9112 §3", "a tab", get("", "GET\t/health HTTP/1.1"), kRefused},
      {"9112 §3", "a space at the end", get("", "GET /health HTTP/1.1 "), kRefused},
      {"9112 §3", "a space at the beginning", get("", " GET /health HTTP/1.1"), kRefused},
      {"9112 §3", "no version: that was HTTP/0.9", get("", "GET /health"), kRefused},
      {"9112 §3", "a word more", get("", "GET /health /json HTTP/1.1"), kRefused},
      {"9112 §3", "a word only", get("", "GET"), kRefused},
      {"9112 §2.2", "an empty line before it is ignored", "\r\n\r\n" + get(), "200 OK / open"},
      {"9112 §2.2", "but not any number of them",
       "\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n\r\n" + get(), kRefused},
      {"9112 §2.2", "a bare LF ends no line", "GET /health HTTP/1.1\nHost: a\n\n", kRefused},
      {"9112 §2.2", "a bare CR is no end either", "GET /health HTTP/1.1\rHost: a\r\r", kRefused},
  };
  expect_rules(rules);
}

TEST(RequestLine, HasAMethodThatIsAToken) {
  const Rule rules[] = {
      {"9110 §9.1", "methods are case-sensitive", get("", "get /health HTTP/1.1"),
       "501 Not Implemented / lingering"},
      {"9110 §9.1", "an unknown one is not implemented", get("", "BREW /health HTTP/1.1"),
       "501 Not Implemented / lingering"},
      {"9110 §5.6.2", "a delimiter is no token", get("", "G(T /health HTTP/1.1"), kRefused},
      {"9110 §5.6.2", "nor is a high byte", get("", "G\xc3\xa9T /health HTTP/1.1"), kRefused},
      {"9110 §5.6.2", "nor a control character", get("", "G\x01T /health HTTP/1.1"), kRefused},
  };
  expect_rules(rules);
}

TEST(RequestLine, HasAVersion) {
  const std::string_view unsupported = "505 HTTP Version Not Supported / lingering";
  const Rule rules[] = {
      {"9112 §9.3", "1.0 closes", "GET /health HTTP/1.0\r\n\r\n", "200 OK / closed"},
      {"9110 §15.6.6", "3.0", get("", "GET /health HTTP/3.0"), unsupported},
      {"9113 §3.4", "a client that speaks HTTP/2 at once", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
       unsupported},
      {"9112 §2.3", "no dot", get("", "GET /health HTTP/11"), kRefused},
      {"9112 §2.3", "lower case", get("", "GET /health http/1.1"), kRefused},
      {"9112 §2.3", "another protocol", get("", "GET /health HTTPS/1.1"), kRefused},
  };
  expect_rules(rules);
}

TEST(RequestLine, IsNotATlsHello) {
  EXPECT_EQ(
      outcome_at_every_split(std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)),
      kRefused);
}

TEST(RequestLine, MayBeLongUpToALimit) {
  Wire wire(bench_app());
  EXPECT_EQ(wire.receive(get("", "GET /" + std::string(7980, 'x') + " HTTP/1.1")).answers(),
            "404 Not Found");
  EXPECT_EQ(wire.receive(get("", "GET /" + std::string(9000, 'x') + " HTTP/1.1")).answers(),
            "414 URI Too Long");
  EXPECT_EQ(Wire(bench_app()).receive("GET /" + std::string(20'000, 'x')).answers(),
            "414 URI Too Long");
}

}  // namespace
}  // namespace leantea::test

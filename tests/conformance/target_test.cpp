// RFC 9112 §3.2, RFC 3986: the forms of a request target, its path, and Host.
#include "conformance/rule.hpp"

namespace leantea::test {
namespace {

std::string target(std::string_view text, std::string_view method = "GET") {
  return std::string(method) + " " + std::string(text) + " HTTP/1.1\r\nHost: a\r\n\r\n";
}
std::string host(std::string_view lines) {
  return "GET /health HTTP/1.1\r\n" + std::string(lines) + "\r\n";
}

TEST(Target, HasFourForms) {
  const Rule rules[] = {
      {"9112 §3.2.1", "origin-form with a query", target("/health?a=b"), "200 OK / open"},
      {"9112 §3.2.2", "absolute-form", target("http://b.test:80/health?x"), "200 OK / open"},
      {"9112 §3.2.2", "with an IPv6 address", target("http://[::1]:80/health"), "200 OK / open"},
      {"9110 §4.2.1", "http needs a host", target("http:///health"), kRefused},
      {"9110 §4.2.1", "two slashes", target("http:/health"), kRefused},
      {"9110 §4.2.4", "no user", target("http://me@b.test/health"), kRefused},
      {"9112 §3.2.3", "authority-form is CONNECT's", target("b.test:80"), kRefused},
      {"9112 §3.2.4", "asterisk-form is OPTIONS'", target("*"), kRefused},
      {"9112 §3.2.4", "the server as a whole", target("*", "OPTIONS"), "204 / open"},
      {"9112 §3.2", "a path begins with a slash", target("health"), kRefused},
  };
  expect_rules(rules);
}

TEST(Target, HasAPathThatIsDecodedOnce) {
  const Rule rules[] = {
      {"3986 §2.1", "an encoded letter is the letter", target("/h%65alth"), "200 OK / open"},
      {"3986 §2.4", "decoded once, not twice", target("/%2568ealth"), "404 Not Found / open"},
      {"3986 §5.2.4", "dot segments go", target("/x/./../health"), "200 OK / open"},
      {"3986 §5.2.4", "encoded ones, too", target("/x/%2e%2E/health"), "200 OK / open"},
      {"3986 §2.2", "an encoded slash makes no segment", target("/x/..%2fhealth"),
       "404 Not Found / open"},
      {"3986 §2.1", "a cut escape", target("/health%4"), kRefused},
      {"3986 §2.1", "an escape that is no number", target("/health%zz"), kRefused},
      {"9110 §17.5", "an encoded NUL", target("/health%00"), kRefused},
      {"9112 §11.1", "encoded line ends", target("/health%0d%0aX:y"), kRefused},
      {"3986 §2", "a quote", target("/hea\"lth"), kRefused},
      {"3986 §2", "a high byte", target("/h\xc3\xa9"), kRefused},
      {"3986 §3.3", "a backslash is no slash", target("\\health"), kRefused},
      {"9110 §4.2.5", "a fragment is not sent", target("/health#x"), kRefused},
  };
  expect_rules(rules);
}

TEST(Host, IsThereOnceAndIsAHost) {
  const Rule rules[] = {
      {"9112 §3.2", "missing", host(""), kRefused},
      {"9112 §3.2", "twice", host("Host: a\r\nHost: a\r\n"), kRefused},
      {"9112 §3.2", "twice in 1.0", "GET /health HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", kRefused},
      {"9110 §7.2", "with a port", host("Host: a.test:8080\r\n"), "200 OK / open"},
      {"9110 §7.2", "an IPv6 address", host("Host: [::1]:8080\r\n"), "200 OK / open"},
      {"9110 §5.1", "names have no case", host("hOST: a\r\n"), "200 OK / open"},
      {"9110 §7.2", "a space", host("Host: a b\r\n"), kRefused},
      {"9110 §7.2", "a user", host("Host: me@a\r\n"), kRefused},
      {"9110 §7.2", "a scheme", host("Host: http://a\r\n"), kRefused},
      {"9110 §7.2", "a port that is no number", host("Host: a:+80\r\n"), kRefused},
      {"9110 §7.2", "two ports", host("Host: a:80:80\r\n"), kRefused},
      {"9110 §7.2", "an IPv6 address without brackets", host("Host: ::1\r\n"), kRefused},
      {"9110 §7.2", "a path", host("Host: a/b\r\n"), kRefused},
      {"9110 §7.2", "two hosts in one field", host("Host: a, b\r\n"), kRefused},
  };
  expect_rules(rules);
}

}  // namespace
}  // namespace leantea::test

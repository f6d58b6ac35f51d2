// The request target (RFC 9112 §3.2, RFC 3986) and Host (RFC 9110 §7.2). Targets and hosts lie
// directly at an unreadable page.
#include "http/target.hpp"

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/guarded_bytes.hpp"

namespace leantea::http {
namespace {

/// What became of a target, in a form that can be compared and printed.
struct Resolved {
  int status = 200;
  std::string path;
  std::string query;
  std::string authority;

  bool operator==(const Resolved&) const = default;
};

void PrintTo(const Resolved& resolved, std::ostream* out) {
  *out << resolved.status << " path " << resolved.path << " query " << resolved.query
       << " authority " << resolved.authority;
}

Resolved resolve(Method method, std::string_view raw, bool secured = false) {
  const test::GuardedBytes bytes{raw};
  test::GuardedBytes scratch{std::string(raw.size(), '?')};
  const auto target = resolve_target(method, bytes.view(), scratch.data(), raw.size(), secured);
  if (!target) return {.status = code(target.error()), .path = "", .query = "", .authority = ""};
  return {.status = 200,
          .path = std::string(target->path),
          .query = std::string(target->query),
          .authority = std::string(target->authority)};
}

Resolved path(std::string path, std::string query = "") {
  return {.status = 200, .path = std::move(path), .query = std::move(query), .authority = ""};
}
Resolved refused(Status status = Status::kBadRequest) {
  return {.status = code(status), .path = "", .query = "", .authority = ""};
}

// ---- Origin-form, RFC 9112 §3.2.1 ----

TEST(OriginForm, IsAPathAndPerhapsAQuery) {
  EXPECT_EQ(resolve(Method::kGet, "/"), path("/"));
  EXPECT_EQ(resolve(Method::kGet, "/health"), path("/health"));
  EXPECT_EQ(resolve(Method::kGet, "/a/b/"), path("/a/b/"));
  EXPECT_EQ(resolve(Method::kGet, "//a//b"), path("//a//b"));
  EXPECT_EQ(resolve(Method::kGet, "/a?b=c"), path("/a", "b=c"));
  EXPECT_EQ(resolve(Method::kGet, "/a?"), path("/a"));
  EXPECT_EQ(resolve(Method::kGet, "/?a?b/c=http://d/"), path("/", "a?b/c=http://d/"));
  EXPECT_EQ(resolve(Method::kOptions, "/a"), path("/a"));
}

TEST(OriginForm, BeginsWithASlash) {
  for (const char* raw : {"", "health", "?a", "*/health", "h.test:80", "\\health", "%2Fhealth"})
    EXPECT_EQ(resolve(Method::kGet, raw), refused()) << raw;
}

TEST(OriginForm, PassesAViewOfTheTargetWhereNothingChanges) {
  char scratch[64];
  for (const std::string_view raw : {"/health", "/a.b/..c/.git/...?x", "/-._~!$&'()*+,;=:@/09azAZ",
                                     "/a%2Fb", "/.well-known/x"}) {
    const auto target = resolve_target(Method::kGet, raw, scratch, sizeof scratch);
    ASSERT_TRUE(target) << raw;
    EXPECT_EQ(target->path.data(), raw.data()) << raw;
  }
}

// ---- Characters, RFC 3986 §3.3 and §3.4 ----

TEST(Characters, OfPathAndQueryAreThoseOfTheGrammar) {
  const std::string_view unreserved_and_sub_delims = "-._~!$&'()*+,;=09azAZ";
  for (int octet = 0; octet < 256; ++octet) {
    const char c = static_cast<char>(octet);
    const bool pchar = std::string_view(":@").contains(c) ||
                       unreserved_and_sub_delims.contains(c) || (c >= 'a' && c <= 'z') ||
                       (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    const std::string in_path = std::string("/x") + c + "y";
    const std::string in_query = std::string("/x?a") + c + "b";
    const bool ok_in_path = pchar || c == '/' || c == '?';
    const bool ok_in_query = pchar || c == '/' || c == '?';
    EXPECT_EQ(resolve(Method::kGet, in_path).status, ok_in_path ? 200 : 400) << octet;
    EXPECT_EQ(resolve(Method::kGet, in_query).status, ok_in_query ? 200 : 400) << octet;
    // And where the path must be rewritten.
    EXPECT_EQ(resolve(Method::kGet, "/%41" + in_path).status, ok_in_path ? 200 : 400) << octet;
    EXPECT_EQ(resolve(Method::kGet, "/%41" + in_query).status, ok_in_query ? 200 : 400) << octet;
  }
}

TEST(Characters, AFragmentIsNeverSent) {  // RFC 9110 §4.2.5
  EXPECT_EQ(resolve(Method::kGet, "/a#b"), refused());
  EXPECT_EQ(resolve(Method::kGet, "/a?b#c"), refused());
}

// ---- Percent-encoding, RFC 3986 §2.1 ----

TEST(PercentEncoding, IsDecodedOnce) {
  EXPECT_EQ(resolve(Method::kGet, "/%68ealt%68"), path("/health"));
  EXPECT_EQ(resolve(Method::kGet, "/%2568ealth"), path("/%68ealth"));
  EXPECT_EQ(resolve(Method::kGet, "/%252e%252e/x"), path("/%2e%2e/x"));
  EXPECT_EQ(resolve(Method::kGet, "/%C3%A9%20%22%23"), path("/\xc3\xa9 \"#"));
  EXPECT_EQ(resolve(Method::kGet, "/%3Fa?%3f"), path("/?a", "%3f"));
}

TEST(PercentEncoding, OfASlashStays) {
  EXPECT_EQ(resolve(Method::kGet, "/a%2Fb"), path("/a%2Fb"));
  EXPECT_EQ(resolve(Method::kGet, "/a%2fb"), path("/a%2Fb"));
  EXPECT_EQ(resolve(Method::kGet, "/a%2f%2e%2e%2fb"), path("/a%2F..%2Fb"));
}

TEST(PercentEncoding, HasTwoDigits) {
  for (const char* raw : {"/%", "/%4", "/a%", "/a%4", "/%zz", "/%4z", "/%z4", "/%%41", "/%-1",
                          "/x?%", "/x?%4", "/x?%4z", "/%4?1", "/%4/1"})
    EXPECT_EQ(resolve(Method::kGet, raw), refused()) << raw;
}

TEST(PercentEncoding, HidesNoControlCharacters) {  // RFC 9110 §17.5, RFC 9112 §11.1
  for (const char* raw : {"/%00", "/health%00", "/%0d%0aX:%20y", "/%1f", "/%7F", "/a/%09"})
    EXPECT_EQ(resolve(Method::kGet, raw), refused()) << raw;
}

// ---- Dot segments, RFC 3986 §5.2.4 ----

TEST(DotSegments, AreRemoved) {
  EXPECT_EQ(resolve(Method::kGet, "/a/./b"), path("/a/b"));
  EXPECT_EQ(resolve(Method::kGet, "/a/../b"), path("/b"));
  EXPECT_EQ(resolve(Method::kGet, "/a/b/../../c"), path("/c"));
  EXPECT_EQ(resolve(Method::kGet, "/./a"), path("/a"));
  EXPECT_EQ(resolve(Method::kGet, "/."), path("/"));
  EXPECT_EQ(resolve(Method::kGet, "/a/."), path("/a/"));
  EXPECT_EQ(resolve(Method::kGet, "/a/.."), path("/"));
  EXPECT_EQ(resolve(Method::kGet, "/a/b/.."), path("/a/"));
  EXPECT_EQ(resolve(Method::kGet, "/a/b/../?c"), path("/a/", "c"));
  EXPECT_EQ(resolve(Method::kGet, "/a/..?../x"), path("/", "../x"));
  EXPECT_EQ(resolve(Method::kGet, "/a//../b"), path("/a/b"));
  EXPECT_EQ(resolve(Method::kGet, "//.."), path("/"));
}

TEST(DotSegments, AreRemovedAlsoWhenEncoded) {
  EXPECT_EQ(resolve(Method::kGet, "/a/%2e%2e/b"), path("/b"));
  EXPECT_EQ(resolve(Method::kGet, "/a/.%2E/b"), path("/b"));
  EXPECT_EQ(resolve(Method::kGet, "/a/%2e/b"), path("/a/b"));
  EXPECT_EQ(resolve(Method::kGet, "/a/%2e"), path("/a/"));
}

TEST(DotSegments, DoNotClimbAboveTheRoot) {
  for (const char* raw :
       {"/..", "/../x", "/a/../../x", "/%2e%2e", "/.%2e/x", "/./../x", "/a/../.."})
    EXPECT_EQ(resolve(Method::kGet, raw), refused()) << raw;
}

TEST(DotSegments, AreWholeSegments) {
  for (const char* raw : {"/...", "/..a", "/a..", "/.a", "/a.", "/a/...", "/a/..b/c", "/.a/b"})
    EXPECT_EQ(resolve(Method::kGet, raw), path(raw)) << raw;
  EXPECT_EQ(resolve(Method::kGet, "/..%61"), path("/..a"));
  EXPECT_EQ(resolve(Method::kGet, "/.%2e%2e"), path("/..."));
}

// ---- Absolute-form, RFC 9112 §3.2.2 ----

TEST(AbsoluteForm, HasAnAuthority) {
  const auto absolute = [](std::string authority, std::string path, std::string query = "") {
    return Resolved{.status = 200,
                    .path = std::move(path),
                    .query = std::move(query),
                    .authority = std::move(authority)};
  };
  EXPECT_EQ(resolve(Method::kGet, "http://h.test/a?b"), absolute("h.test", "/a", "b"));
  EXPECT_EQ(resolve(Method::kGet, "HTTP://h.test:8080/a"), absolute("h.test:8080", "/a"));
  EXPECT_EQ(resolve(Method::kGet, "http://[::1]:80/a/../b"), absolute("[::1]:80", "/b"));
  EXPECT_EQ(resolve(Method::kGet, "http://h.test"), absolute("h.test", "/"));
  EXPECT_EQ(resolve(Method::kGet, "http://h.test?a/b"), absolute("h.test", "/", "a/b"));
  EXPECT_EQ(resolve(Method::kGet, "http://h.test/?a=http://i.test/"),
            absolute("h.test", "/", "a=http://i.test/"));
  // RFC 9112 §3.2.4: this is how a proxy is told to ask "*".
  EXPECT_EQ(resolve(Method::kOptions, "http://h.test:8001"), absolute("h.test:8001", "*"));
  EXPECT_EQ(resolve(Method::kOptions, "http://h.test/"), absolute("h.test", "/"));
  EXPECT_EQ(resolve(Method::kOptions, "http://h.test?"), absolute("h.test", "/"));
}

TEST(AbsoluteForm, HasNoEmptyHostAndNoUserInformation) {  // RFC 9110 §4.2.1, §4.2.4
  for (const char* raw : {"http://", "http:///a", "http://:80/a", "http://?a", "http:/a", "http:a",
                          "http://u@h.test/", "http://u:p@h.test/", "http://h.test:x/",
                          "http://h.test:80:81/", "http://::1/", "http://[::1/", "http://h\\i/",
                          "http://h.test#a", "http://h.test/a#b", "http://h.test?%", "http://h/%"})
    EXPECT_EQ(resolve(Method::kGet, raw), refused()) << raw;
}

TEST(AbsoluteForm, HasASchemeThatIsServedHere) {
  for (const char* raw : {"ftp://h.test/", "httpx://h.test/", "javascript:alert(1)", "h.test/",
                          "http", "://h.test/", "file:///etc/passwd", "ws://h.test/"})
    EXPECT_EQ(resolve(Method::kGet, raw), refused()) << raw;
}

TEST(AbsoluteForm, OfHttpsNeedsASecuredConnection) {  // RFC 9110 §7.4
  EXPECT_EQ(resolve(Method::kGet, "https://h.test/a"), refused(Status::kMisdirectedRequest));
  EXPECT_EQ(resolve(Method::kGet, "https://h.test/a", true).path, "/a");
  EXPECT_EQ(resolve(Method::kGet, "http://h.test/a", true).path, "/a");
}

// ---- Authority-form, RFC 9112 §3.2.3, and asterisk-form, §3.2.4 ----

TEST(AuthorityForm, IsForConnectOnlyAndHasAPort) {
  EXPECT_EQ(resolve(Method::kConnect, "h.test:443").authority, "h.test:443");
  EXPECT_EQ(resolve(Method::kConnect, "[::1]:443").authority, "[::1]:443");
  for (const char* raw : {"h.test", "h.test:", "h.test:0", "h.test:65536", "h.test:x", ":80", "",
                          "/", "*", "http://h.test:80/", "u@h.test:80", "h.test:80/", "[::1]"})
    EXPECT_EQ(resolve(Method::kConnect, raw), refused()) << raw;
}

TEST(AsteriskForm, IsForOptionsOnly) {
  EXPECT_EQ(resolve(Method::kOptions, "*"), path("*"));
  EXPECT_EQ(resolve(Method::kGet, "*"), refused());
  EXPECT_EQ(resolve(Method::kOptions, "**"), refused());
  EXPECT_EQ(resolve(Method::kOptions, "*?a"), refused());
}

// ---- Host, RFC 9110 §7.2, RFC 3986 §3.2.2 ----

bool valid(std::string_view value, bool empty_allowed = false) {
  const test::GuardedBytes bytes{value};
  return valid_host(bytes.view(), empty_allowed);
}

TEST(Host, IsANameOrAnAddressAndPerhapsAPort) {
  for (const char* value :
       {"h", "h1.test", "h1.test.", "my_host.test", "127.0.0.1", "127.0.0.1:8080", "h:80",
        "h:", "h:0", "h:65535", "h:00080", "xn--bcher-kva.test", "a-b~c!$&'()*+,;=d", "h%41i",
        "a-rather-long-name-of-a-host-in-some-cloud.region-1.example.test:8443"})
    EXPECT_TRUE(valid(value)) << value;
}

TEST(Host, IsNothingElse) {
  for (const char* value : {"h1 test",
                            "root@h1.test",
                            "http://h1.test",
                            "h1.test/",
                            "h1.test:+80",
                            "h1.test:-1",
                            "h1.test:80:81",
                            "h1.test:8o",
                            "h1.test:65536",
                            "h1.test:99999999999999999999",
                            ":80",
                            ":",
                            "h\xff.test",
                            "h\\x",
                            "h?",
                            "h#",
                            "h%4",
                            "h%",
                            "h%zz",
                            "h%00",
                            "h%0d",
                            "h\tt",
                            "\"h\"",
                            "<h>",
                            "{h}",
                            "h|i",
                            "h^",
                            "h`",
                            "h[i]",
                            "h\x7f"})
    EXPECT_FALSE(valid(value)) << value;
}

TEST(Host, IsEmptyOnlyWhereThatIsAllowed) {
  EXPECT_FALSE(valid("", false));
  EXPECT_TRUE(valid("", true));
  EXPECT_FALSE(valid(":80", true));
}

TEST(Host, MayBeAnIpLiteral) {
  for (const char* value :
       {"[::]", "[::1]", "[1::]", "[2001:db8::7]:8080", "[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7::]",
        "[::2:3:4:5:6:7:8]", "[1::3:4:5:6:7:8]", "[::ffff:192.0.2.1]", "[1:2:3:4:5:6:192.0.2.1]",
        "[64:ff9b::255.255.255.255]", "[ABCD:ef01::]", "[v1.a]", "[vF.a:b-c]:80", "[::1]:"})
    EXPECT_TRUE(valid(value)) << value;
  for (const char* value : {"::1",
                            "[::1",
                            "[]",
                            "[:]",
                            "[:::]",
                            "[::1]x",
                            "[::1]]",
                            "[[::1]]",
                            "[::1]:x",
                            "[1]",
                            "[1:]",
                            "[:1]",
                            "[1:2:3:4:5:6:7]",
                            "[1:2:3:4:5:6:7:8:9]",
                            "[1::2::3]",
                            "[1:2:3:4::5:6:7:8]",
                            "[12345::]",
                            "[g::]",
                            "[::1%25eth0]",
                            "[::192.0.2]",
                            "[::192.0.2.256]",
                            "[::192.0.2.01]",
                            "[::192.0.2.1.1]",
                            "[::192.0.2.1:1]",
                            "[192.0.2.1]",
                            "[1:2:3:4:5:6:7:192.0.2.1]",
                            "[v.a]",
                            "[v1.]",
                            "[v1]",
                            "[vg.a]",
                            "[::1 ]",
                            "[h]"})
    EXPECT_FALSE(valid(value)) << value;
}

// ---- Host, with the last one remembered ----

TEST(HostCheck, SaysOfEveryValueWhatValidHostSays) {
  const std::string long_name = std::string(64, 'a');
  const std::vector<std::string> values = {"",
                                           "a",
                                           "a:1",
                                           "localhost:8080",
                                           "localhost:8081",
                                           "localhost",
                                           "127.0.0.1",
                                           "127.0.0.1:80",
                                           "127.0.0.1:80 ",
                                           "[::1]:8080",
                                           "[::1:8080",
                                           "localhos/",
                                           "localhost:x",
                                           "localhost:65536",
                                           "example.com:443",
                                           "example.com/",
                                           std::string("exam\0le.com", 11),
                                           long_name,
                                           long_name + "b",
                                           std::string(64, '/'),
                                           "abcdefgh",
                                           "abcdefg@",
                                           "abcdefghabcdefgh",
                                           "abcdefghabcdefg@",
                                           "abcdefg@abcdefgh"};
  HostCheck check;
  for (const std::string& first : values) {
    for (const std::string& second : values) {
      for (const std::string& value : {first, second, first}) {
        const test::GuardedBytes bytes{value};
        ASSERT_EQ(check.valid(bytes.view()), valid_host(bytes.view(), true)) << first << second;
      }
    }
  }
}

}  // namespace
}  // namespace leantea::http

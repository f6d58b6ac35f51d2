// Names of fields (RFC 9110 §5.1), and those that a trailer section may not have (§6.5.1).
#include "http/field_name.hpp"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "http/ascii.hpp"
#include "support/guarded_bytes.hpp"

namespace leantea::http {
namespace {

const std::map<std::string, FieldName>& known_names() {
  static const std::map<std::string, FieldName> kNames = {
      {"Host", FieldName::kHost},
      {"Content-Length", FieldName::kContentLength},
      {"Transfer-Encoding", FieldName::kTransferEncoding},
      {"Connection", FieldName::kConnection},
      {"Keep-Alive", FieldName::kKeepAlive},
      {"Expect", FieldName::kExpect},
      {"Upgrade", FieldName::kUpgrade},
      {"Trailer", FieldName::kTrailer},
      {"TE", FieldName::kTe},
      {"Content-Type", FieldName::kContentType},
  };
  return kNames;
}

/// Looks at the name with nothing readable behind it.
FieldName field_named(std::string_view name) {
  const test::GuardedBytes guarded{name};
  return field_name_from(guarded.view());
}

TEST(FieldName, IsFoundInAnyCase) {
  EXPECT_EQ(known_names().size(), kFieldNameCount - 1) << "one test for each name";
  for (const auto& [name, id] : known_names()) {
    std::string upper = name, lower = name;
    for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 0x20) : c;
    for (char& c : lower) c = to_lower(c);
    EXPECT_EQ(field_named(name), id) << name;
    EXPECT_EQ(field_named(upper), id) << upper;
    EXPECT_EQ(field_named(lower), id) << lower;
  }
}

TEST(FieldName, IsNotFoundWhenAnyByteOrTheSizeDiffers) {
  for (const auto& [name, id] : known_names()) {
    EXPECT_EQ(field_named(name + "x"), FieldName::kOther);
    EXPECT_EQ(field_named(name.substr(1)), FieldName::kOther);
    EXPECT_EQ(field_named(name.substr(0, name.size() - 1)), FieldName::kOther);
    for (std::size_t at = 0; at < name.size(); ++at) {
      for (int octet = 0; octet < 256; ++octet) {
        std::string other = name;
        other[at] = static_cast<char>(octet);
        if (equal_ignoring_case(other, name)) continue;
        EXPECT_EQ(field_name_from(other), FieldName::kOther) << testing::PrintToString(other);
      }
    }
  }
  for (std::size_t size = 0; size < 40; ++size)
    EXPECT_EQ(field_named(std::string(size, 'x')), FieldName::kOther);
}

TEST(FieldNameSet, HasWhatWasAdded) {
  FieldNameSet set;
  EXPECT_FALSE(set.has(FieldName::kHost));
  set.add(FieldName::kHost);
  set.add(FieldName::kContentType);
  EXPECT_TRUE(set.has(FieldName::kHost));
  EXPECT_TRUE(set.has(FieldName::kContentType));
  EXPECT_FALSE(set.has(FieldName::kTe));
  set.clear();
  EXPECT_FALSE(set.has(FieldName::kHost));
}

TEST(Trailers, DoNotFrameRouteAuthenticateOrModify) {  // RFC 9110 §6.5.1
  for (const char* name : {"Content-Length",
                           "transfer-encoding",
                           "HOST",
                           "Connection",
                           "TE",
                           "Trailer",
                           "Upgrade",
                           "Authorization",
                           "Cookie",
                           "Set-Cookie",
                           "Cache-Control",
                           "Expect",
                           "Range",
                           "If-Match",
                           "If-None-Match",
                           "Content-Type",
                           "Content-Encoding",
                           "Content-Range",
                           "Date",
                           "Location",
                           "Vary",
                           "Max-Forwards",
                           "Via",
                           "WWW-Authenticate"})
    EXPECT_TRUE(forbidden_in_trailers(name)) << name;
}

TEST(Trailers, MayHaveOtherFields) {
  for (const char* name :
       {"X-Sum", "Digest", "ETag", "Server-Timing", "Host2", "Hos", "", "X-Host"})
    EXPECT_FALSE(forbidden_in_trailers(name)) << name;
}

}  // namespace
}  // namespace leantea::http

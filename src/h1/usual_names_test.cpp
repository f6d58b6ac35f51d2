// The usual field names: whatever the table says must be what reading the name would say.
#include "h1/usual_names.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/scan.hpp"

namespace leantea::h1 {
namespace {

#ifdef __SSE4_1__

const std::string_view kSomeNames[] = {
    "Host",           "Accept",        "Accept-Encoding", "Accept-Language",
    "Authorization",  "Connection",    "User-Agent",      "Cache-Control",
    "Content-Length", "Cookie",        "Origin",          "Pragma",
    "Referer",        "If-None-Match", "X-Forwarded-For", "X-Real-IP",
};

const UsualName* find(std::string line) {
  line.resize(16, 'x');
  return kUsualNames.find(base::scan::load16(line.data()));
}

TEST(UsualNames, AreFoundAsTheyAreUsuallyWritten) {
  for (const std::string_view name : kSomeNames) {
    const UsualName* const usual = find(std::string(name) + ": value");
    ASSERT_NE(usual, nullptr) << name;
    EXPECT_EQ(usual->size, name.size()) << name;
    EXPECT_EQ(usual->id, http::field_name_from(name)) << name;
  }
}

TEST(UsualNames, AreFoundOnlyWhole) {
  for (const std::string_view name : kSomeNames) {
    EXPECT_EQ(find(std::string(name) + "-x: value"), nullptr) << name;
    EXPECT_EQ(find(std::string(name) + " : value"), nullptr) << name;
    EXPECT_EQ(find(std::string(name.substr(1)) + ": value"), nullptr) << name;
    for (std::size_t at = 0; at <= name.size(); ++at) {
      for (int octet = 0; octet < 256; ++octet) {
        std::string line = std::string(name) + ": value";
        if (line[at] == static_cast<char>(octet)) continue;
        line[at] = static_cast<char>(octet);
        EXPECT_EQ(find(line), nullptr) << testing::PrintToString(line);
      }
    }
  }
}

TEST(UsualNames, AreNotFoundInAnythingElse) {
  for (int octet = 0; octet < 256; ++octet) {
    EXPECT_EQ(find(std::string(16, static_cast<char>(octet))), nullptr) << octet;
    for (int second = 0; second < 256; ++second)
      EXPECT_EQ(find(std::string{static_cast<char>(octet), static_cast<char>(second)}), nullptr);
  }
}

#endif

}  // namespace
}  // namespace leantea::h1

// Methods (RFC 9110 §9).
#include <gtest/gtest.h>

#include <leantea/http.hpp>

namespace leantea {
namespace {

TEST(Method, HasOneToken) {
  for (std::size_t i = 0; i < kMethodCount; ++i) {
    const auto method = static_cast<Method>(i);
    EXPECT_FALSE(to_string(method).empty());
    EXPECT_EQ(method_from(to_string(method)), method);
  }
  EXPECT_EQ(method_from("PATCH"), Method::kPatch);
}

TEST(Method, IsCaseSensitiveAndWhole) {  // RFC 9110 §9.1
  for (const char* token : {"", "get", "Get", "GE", "GETS", "GET ", "BREW", "PRI"})
    EXPECT_EQ(method_from(token), std::nullopt) << token;
}

}  // namespace
}  // namespace leantea

// Status codes (RFC 9110 §15).
#include <gtest/gtest.h>

#include <leantea/http.hpp>

namespace leantea {
namespace {

TEST(Status, HasTheNumberAndThePhraseOfTheRegistry) {
  EXPECT_EQ(code(Status::kOk), 200);
  EXPECT_EQ(reason_phrase(Status::kOk), "OK");
  EXPECT_EQ(reason_phrase(Status::kContinue), "Continue");
  EXPECT_EQ(reason_phrase(Status::kNotFound), "Not Found");
  EXPECT_EQ(reason_phrase(Status::kContentTooLarge), "Content Too Large");
  EXPECT_EQ(reason_phrase(Status::kRequestHeaderFieldsTooLarge), "Request Header Fields Too Large");
  EXPECT_EQ(reason_phrase(Status::kHttpVersionNotSupported), "HTTP Version Not Supported");
}

TEST(Status, WithoutANameHasAnEmptyPhrase) {  // RFC 9112 §4 allows it
  EXPECT_EQ(reason_phrase(static_cast<Status>(299)), "");
  EXPECT_EQ(reason_phrase(static_cast<Status>(599)), "");
}

}  // namespace
}  // namespace leantea

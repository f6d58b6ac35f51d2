// Responses: how bodies are held, and that nothing in a field can split an answer.
#include <gtest/gtest.h>

#include <leantea/response.hpp>

namespace leantea {
namespace {

TEST(Response, HoldsABodyInAnyWay) {
  static constexpr char kLiteral[] = "literal";
  EXPECT_EQ(Response::text(StaticText(kLiteral)).body().data(), kLiteral);
  EXPECT_EQ(Response::text("literal").body(), "literal");
  EXPECT_EQ(Response::text(std::string("owned")).body(), "owned");
  EXPECT_EQ(Response::text(std::string_view("viewed")).body(), "viewed");
  const char* pointer = "pointer";
  EXPECT_EQ(Response::text(pointer).body(), "pointer");
  const auto shared = std::make_shared<const std::string>("shared");
  EXPECT_EQ(Response::bytes(shared).body().data(), shared->data());
  EXPECT_EQ(Response::bytes(Content::borrowed(pointer)).body().data(), pointer);
}

TEST(Response, CopiesAViewThatMayGo) {
  std::string source = "here";
  const Response response = Response::text(std::string_view(source));
  source = "gone";
  EXPECT_EQ(response.body(), "here");
}

TEST(Response, KeepsFieldsAndBodyWhenMoved) {
  for (const std::size_t size : {2u, 100u, 380u, 384u, 385u, 5000u}) {
    const std::string body(size, 'b');
    Response response = Response::bytes(std::string_view(body));
    response.header("A", "1").header("Long", std::string(300, 'l')).header("B", "2");
    Response moved = std::move(response);
    Response assigned;
    assigned = std::move(moved);
    EXPECT_EQ(assigned.body(), body);
    EXPECT_EQ(assigned.find_header("a"), "1");
    EXPECT_EQ(assigned.find_header("LONG"), std::string(300, 'l'));
    EXPECT_EQ(assigned.find_header("B"), "2");
    EXPECT_EQ(assigned.find_header("Content-Type"), "application/octet-stream");
  }
}

// RFC 9110 §5.5
TEST(Response, CannotBeSplit) {
  Response response;
  EXPECT_EQ(response.add_header("X", "a\r\nSet-Cookie: b").error(), FieldError::kBadValue);
  EXPECT_EQ(response.add_header("X", "a\nb").error(), FieldError::kBadValue);
  EXPECT_EQ(response.add_header("X", std::string_view("a\0b", 3)).error(), FieldError::kBadValue);
  EXPECT_EQ(response.add_header("X\r\nY", "a").error(), FieldError::kBadName);
  EXPECT_EQ(response.add_header("X Y", "a").error(), FieldError::kBadName);
  EXPECT_EQ(response.add_header("", "a").error(), FieldError::kBadName);
  EXPECT_EQ(response.find_header("X"), std::nullopt);
  EXPECT_TRUE(response.add_header("X", " a\tb ").has_value());
  EXPECT_EQ(response.find_header("X"), "a\tb");
}

TEST(Response, LeavesFramingToTheServer) {
  Response response;
  for (const std::string_view name :
       {"Content-Length", "transfer-encoding", "Connection", "Date", "Trailer"})
    EXPECT_EQ(response.add_header(name, "1").error(), FieldError::kReserved) << name;
}

TEST(Response, TakesAnotherContentType) {
  EXPECT_EQ(Response::content("image/png", "x").find_header("Content-Type"), "image/png");
  EXPECT_EQ(Response::text("x").header("content-type", "text/css").find_header("Content-Type"),
            "text/css");
}

TEST(Response, Redirects) {
  const Response response = Response::redirect("/there", Status::kSeeOther);
  EXPECT_EQ(response.status(), Status::kSeeOther);
  EXPECT_EQ(response.find_header("Location"), "/there");
}

}  // namespace
}  // namespace leantea

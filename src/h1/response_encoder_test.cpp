// Answers as bytes: RFC 9112 §4 to §7.
#include "h1/response_encoder.hpp"

#include <array>

#include <gtest/gtest.h>

#include "base/date_cache.hpp"

namespace leantea::h1 {
namespace {

class Encoder : public ::testing::Test {
 protected:
  Encoder() { date_.update(784111777); }
  ~Encoder() override { out_.clear(pool_); }

  std::string take() {
    std::string bytes;
    std::array<struct iovec, 4> pieces;
    while (!out_.empty()) {
      const std::size_t count = out_.gather(pieces).count;
      std::size_t taken = 0;
      for (std::size_t i = 0; i < count; ++i) {
        bytes.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
        taken += pieces[i].iov_len;
      }
      out_.consume(pool_, taken);
    }
    return bytes;
  }
  std::string encode(Response response, AnswerContext context = {}) {
    context.date_line = date_.line();
    last_ = encode_response(std::move(response), context, pool_, out_);
    return take();
  }

  base::DateCache date_;
  base::BlockPool pool_;
  base::OutputQueue out_;
  Encoded last_{};
};

const std::string kDate = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";

TEST_F(Encoder, WritesStatusDateTypeFieldsAndLength) {
  EXPECT_EQ(encode(Response::text("OK").header("X", "y")),
            "HTTP/1.1 200 OK\r\n" + kDate +
                "Content-Type: text/plain; charset=utf-8\r\nX: y\r\nContent-Length: 2\r\n\r\nOK");
  EXPECT_EQ(encode(Response{Status::kNotFound}),
            "HTTP/1.1 404 Not Found\r\n" + kDate + "Content-Length: 0\r\n\r\n");
  EXPECT_EQ(encode(Response{static_cast<Status>(299)}),
            "HTTP/1.1 299 \r\n" + kDate + "Content-Length: 0\r\n\r\n");
}

// RFC 9110 §8.6, §15.4.5; RFC 9112 §6.3
TEST_F(Encoder, WritesNoContentWhereThereIsNone) {
  EXPECT_EQ(encode(Response{Status::kNoContent}), "HTTP/1.1 204 No Content\r\n" + kDate + "\r\n");
  EXPECT_EQ(encode(Response{Status::kNotModified}),
            "HTTP/1.1 304 Not Modified\r\n" + kDate + "\r\n");
  EXPECT_EQ(encode(Response::text("not sent").set_status(Status::kResetContent)),
            "HTTP/1.1 205 Reset Content\r\n" + kDate +
                "Content-Type: text/plain; charset=utf-8\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(encode(Response::text("OK"), {.head = true}).ends_with("Content-Length: 2\r\n\r\n"));
}

TEST_F(Encoder, SaysHowTheConnectionGoesOn) {
  EXPECT_NE(encode(Response::text("OK"), {.close = true}).find("Connection: close\r\n"),
            std::string::npos);
  EXPECT_TRUE(last_.close);
  EXPECT_NE(encode(Response::text("OK"), {.version = Version::kHttp10})
                .find("Connection: keep-alive\r\n"),
            std::string::npos);
  EXPECT_NE(encode(Response::text("OK").close_connection()).find("Connection: close\r\n"),
            std::string::npos);
  EXPECT_TRUE(last_.close);
}

TEST_F(Encoder, WritesBodiesOfEverySize) {
  for (const std::size_t size : {0u, 1u, 7u, 8u, 16u, 17u, 2048u, 2049u, 5000u, 100'000u}) {
    const std::string body(size, 'x');
    const std::string tail = "Content-Length: " + std::to_string(size) + "\r\n\r\n" + body;
    EXPECT_TRUE(encode(Response::bytes(std::string_view(body))).ends_with(tail)) << size;
    EXPECT_TRUE(encode(Response::bytes(std::string(body))).ends_with(tail)) << size;
    EXPECT_TRUE(encode(Response::bytes(std::make_shared<const std::string>(body))).ends_with(tail))
        << size;
    EXPECT_TRUE(encode(Response::bytes(Content::borrowed(body))).ends_with(tail)) << size;
  }
}

TEST(PutNumber, WritesEveryNumberOfDigits) {
  std::uint64_t power = 1;
  for (int digits = 1; digits <= 20; ++digits, power *= 10) {
    for (const std::uint64_t number : {power - 1, power, power + 1}) {
      std::array<char, 20> space;
      EXPECT_EQ(std::string(space.data(), encoding::put_number(space.data(), number)),
                std::to_string(number));
    }
  }
  std::array<char, 20> space;
  EXPECT_EQ(std::string(space.data(), encoding::put_number(space.data(), UINT64_MAX)),
            std::to_string(UINT64_MAX));
}

TEST_F(Encoder, WritesMoreFieldsThanABlockHolds) {
  Response response = Response::text("OK");
  std::string fields;
  for (int i = 0; i < 200; ++i) {
    const std::string value(50, static_cast<char>('a' + i % 26));
    response.header("X", value);
    fields += "X: " + value + "\r\n";
  }
  EXPECT_NE(encode(std::move(response)).find("\r\n" + fields + "Content-Length: 2\r\n\r\nOK"),
            std::string::npos);
}

TEST_F(Encoder, ChoosesTheCodingOfAStream) {
  const auto producer = [](Writer&) -> Task<> { co_return; };
  EXPECT_TRUE(
      encode(Response::stream("a/b", producer)).ends_with("Transfer-Encoding: chunked\r\n\r\n"));
  EXPECT_EQ(last_.coding, BodyCoding::kChunked);
  EXPECT_TRUE(encode(Response::stream("a/b", producer, 7)).ends_with("Content-Length: 7\r\n\r\n"));
  EXPECT_EQ(last_.coding, BodyCoding::kLength);
  encode(Response::stream("a/b", producer), {.version = Version::kHttp10});
  EXPECT_EQ(last_.coding, BodyCoding::kUntilClose);
  EXPECT_TRUE(last_.close);
  encode(Response::stream("a/b", producer), {.head = true});
  EXPECT_EQ(last_.coding, BodyCoding::kComplete);
}

TEST_F(Encoder, WritesChunks) {
  encode_chunk(std::string(26, 'x'), pool_, out_);
  encode_last_chunk("T: v\r\n", pool_, out_);
  EXPECT_EQ(take(), "1a\r\n" + std::string(26, 'x') + "\r\n0\r\nT: v\r\n\r\n");
  EXPECT_EQ(encode_interim(Status::kEarlyHints, "Link: a\r\n"),
            "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n");
}

}  // namespace
}  // namespace leantea::h1

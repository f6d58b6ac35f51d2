// The chunked coding (RFC 9112 §7.1). Every body is delivered whole, cut in two at every place, and
// byte by byte, always directly at an unreadable page; all must give one answer.
#include "h1/chunked_decoder.hpp"

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "h1/delivery_test.hpp"

namespace leantea::h1 {
namespace {

using Kind = DecodeStep::Kind;

/// What became of a body.
struct Decoded {
  std::string outcome;  ///< "end", "more", or the status it is refused with
  std::string content;
  std::string trailers;  ///< after "end" only
  std::size_t taken = 0;

  bool operator==(const Decoded&) const = default;
};

void PrintTo(const Decoded& decoded, std::ostream* out) {
  *out << decoded.outcome << " after " << decoded.taken << " bytes, content "
       << testing::PrintToString(decoded.content) << ", trailers "
       << testing::PrintToString(decoded.trailers);
}

class Chunks : public testing::Test {
 protected:
  Limits limits;

  Decoded deliver(std::string_view bytes, const std::vector<std::size_t>& piece_ends) {
    ChunkedDecoder decoder;
    Decoded decoded{.outcome = "more", .content = "", .trailers = "", .taken = 0};
    std::string trailers;
    std::size_t before = 0;
    for (const std::size_t end : piece_ends) {
      std::string_view in = memory_.put(bytes.substr(before, end - before));
      before = end;
      const Kind kind = decode(decoder, in, trailers, decoded);
      decoded.taken = end - in.size();
      if (kind == Kind::kNeedMore) {
        EXPECT_TRUE(in.empty()) << "all bytes are taken";
        continue;
      }
      if (kind == Kind::kEnd) decoded.trailers = trailers;
      // It stays at what it said.
      EXPECT_EQ(decode(decoder, in, trailers, decoded), kind);
      break;
    }
    if (decoded.outcome != "end" && decoded.outcome != "more") decoded.taken = 0;
    return decoded;
  }

  /// Delivers the body in every way, and returns the answer that all of them gave.
  Decoded receive(std::string_view bytes) {
    const Decoded whole = deliver(bytes, {bytes.size()});
    for (const auto& piece_ends : test::all_deliveries(bytes.size()))
      EXPECT_EQ(whole, deliver(bytes, piece_ends))
          << "for " << testing::PrintToString(std::string(bytes)) << "\nin pieces that end at "
          << testing::PrintToString(piece_ends);
    return whole;
  }

  void expect_refused(Status status, const std::vector<std::string>& bodies) {
    for (const std::string& body : bodies)
      EXPECT_EQ(receive(body).outcome, std::to_string(code(status)))
          << "for " << testing::PrintToString(body);
  }
  /// The body is all of the bytes, and this is its content.
  void expect_content(const std::string& content, const std::vector<std::string>& bodies) {
    for (const std::string& body : bodies) {
      const Decoded decoded = receive(body);
      EXPECT_EQ(decoded.outcome, "end") << "for " << testing::PrintToString(body);
      EXPECT_EQ(decoded.content, content) << "for " << testing::PrintToString(body);
      EXPECT_EQ(decoded.taken, body.size()) << "for " << testing::PrintToString(body);
    }
  }

 private:
  Kind decode(ChunkedDecoder& decoder, std::string_view& in, std::string& trailers,
              Decoded& decoded) const {
    for (;;) {
      const std::string_view before = in;
      const DecodeStep step = decoder.next(in, limits, trailers);
      switch (step.kind) {
        case Kind::kContent:
          EXPECT_FALSE(step.content.empty());
          EXPECT_TRUE(step.content.data() >= before.data() &&
                      step.content.data() + step.content.size() <= in.data())
              << "content is shown where it came";
          decoded.content += step.content;
          continue;
        case Kind::kNeedMore:
          break;
        case Kind::kEnd:
          decoded.outcome = "end";
          break;
        case Kind::kError:
          decoded.outcome = std::to_string(code(step.error));
          break;
      }
      return step.kind;
    }
  }

  test::EndOfMemory memory_{4096};
};

/// "hello" with this chunk size line, and the end.
std::string hello(std::string_view size_line) {
  return std::string(size_line) + "\r\nhello\r\n0\r\n\r\n";
}
/// "hello" with this in the trailer section.
std::string hello_and(std::string_view trailer_line) {
  return "5\r\nhello\r\n0\r\n" + std::string(trailer_line) + "\r\n\r\n";
}

template <typename... Strings>
std::vector<std::string> each(std::string (*wrap)(std::string_view), Strings... strings) {
  return {wrap(strings)...};
}

// ---- Chunks ----

TEST_F(Chunks, AreTheContent) {
  expect_content("", {"0\r\n\r\n"});
  expect_content("hello", {"5\r\nhello\r\n0\r\n\r\n", "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
                           "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n00\r\n\r\n"});
  expect_content("0\r\n\r\n", {"5\r\n0\r\n\r\n\r\n0\r\n\r\n"});
}

TEST_F(Chunks, MayHoldAnyOctets) {
  std::string all;
  for (int octet = 0; octet < 256; ++octet) all += static_cast<char>(octet);
  expect_content(all, {"100\r\n" + all + "\r\n0\r\n\r\n"});
}

TEST_F(Chunks, HaveAHexadecimalSize) {
  expect_content("0123456789", {"A\r\n0123456789\r\n0\r\n\r\n", "a\r\n0123456789\r\n0\r\n\r\n"});
  expect_content(std::string(0x1f, 'x'), {"1F\r\n" + std::string(0x1f, 'x') + "\r\n0\r\n\r\n"});
  expect_content("hello", each(hello, "5", "05", "0005", "00000000000000000000000000000005"));
}

TEST_F(Chunks, HaveNoOtherSize) {
  expect_refused(Status::kBadRequest,
                 each(hello, "", " 5", "\t5", "+5", "-5", "0x5", "5h", "5,5", "\"5\"", "5\v",
                      "\xb5", "\xef\xbc\x95", "5 ", "5\t", "5 5", "5\r", "5\r\r", "g", ";", ";a",
                      "5 junk", "5\x01", "5.", "5 \t"));
}

TEST_F(Chunks, HaveASizeOf64Bits) {
  const auto announced = [this](std::string_view size) {
    ChunkedDecoder decoder;
    std::string trailers;
    std::string line = std::string(size) + "\r\n";
    std::string_view in = line;
    EXPECT_EQ(decoder.next(in, limits, trailers).kind, Kind::kNeedMore) << size;
    return decoder.announced();
  };
  EXPECT_EQ(announced("100000005"), 0x1'0000'0005u);
  EXPECT_EQ(announced("ffffffffffffffff"), 0xffff'ffff'ffff'ffffu);
  EXPECT_EQ(announced("0000000000fFfFfFfF"), 0xffff'ffffu);
  expect_refused(Status::kBadRequest,
                 each(hello, "10000000000000005", "30000000000000005", "ffffffffffffffffff",
                      "100000000000000000000000000000005"));
}

TEST_F(Chunks, HaveABoundedNumberOfZerosInFront) {
  expect_content("hello", {hello(std::string(63, '0') + "5")});
  expect_refused(Status::kBadRequest, {hello(std::string(64, '0') + "5"), std::string(65, '0')});
}

TEST_F(Chunks, EndInCrLfOnly) {
  expect_refused(Status::kBadRequest,
                 {"5\nhello\r\n0\r\n\r\n", "5\rhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n",
                  "5\r\nhello\r0\r\n\r\n", "5\r\nhello\r\n0\n\r\n", "5\r\nhello\r\n0\r\r\n",
                  "5\r\nhello\r\n0\r\n\n", "5\r\nhello\r\n0\r\n\r\r\n", "5\r\nhello0\r\n\r\n",
                  "5\r\nhelloXX0\r\n\r\n", "6\r\nhello\r\n0\r\n\r\n", "4\r\nhello\r\n0\r\n\r\n",
                  "5\r\n\rhello\r\n0\r\n\r\n", "\r\n5\r\nhello\r\n0\r\n\r\n"});
}

TEST_F(Chunks, AreIncompleteUntilTheirLastLine) {  // RFC 9112 §8
  const std::string body = "5;a=\"b\" ; c\r\nhello\r\n0\r\nX: y\r\n\r\n";
  for (std::size_t size = 0; size < body.size(); ++size)
    EXPECT_EQ(receive(body.substr(0, size)).outcome, "more") << size;
}

TEST_F(Chunks, LeaveWhatComesBehindTheBody) {
  const std::string body = hello_and("X: y");
  const Decoded decoded = receive(body + "GET / HTTP/1.1\r\n");
  EXPECT_EQ(decoded.outcome, "end");
  EXPECT_EQ(decoded.taken, body.size());
}

TEST_F(Chunks, ThatAreAnnouncedAreKnownBeforeTheyCome) {
  ChunkedDecoder decoder;
  std::string trailers;
  std::string_view in = "ffffffff\r\nstart";
  EXPECT_EQ(decoder.announced(), 0u);
  EXPECT_EQ(decoder.next(in, limits, trailers).content, "start");
  EXPECT_EQ(decoder.announced(), 0xffff'ffffu - 5);
  decoder.reset();
  EXPECT_EQ(decoder.announced(), 0u);
}

// ---- Extensions, RFC 9112 §7.1.1 ----

TEST_F(Chunks, MayHaveExtensions) {
  expect_content(
      "hello",
      each(hello, "5;a", "5;a=b", "5;a=b;c=d;e", "5 ; a = b ; c", "5\t;\ta\t=\tb", "5;a=\"\"",
           "5;a=\"b c\"", "5;q=\"semi;colon \\\" and \t tab\"", "5;a=\"\\\\\"",
           "5;a=\"\xc3\xa9\\\xff\";b", "5;a=\"b\" ;c=d", "5;!#$%&'*+-.^_`|~09=!#$%&'*+-.^_`|~09"));
  expect_content("", {"0;a=b\r\n\r\n"});
}

TEST_F(Chunks, HaveExtensionsAsTheGrammarSays) {
  expect_refused(
      Status::kBadRequest,
      each(hello, "5;", "5;;a", "5; ", "5;a;", "5;a ", "5;a=", "5;a= ", "5;a=b ", "5;=b", "5;a b",
           "5;a==b", "5;a=b c", "5;a=b=c", "5;(a)", "5;a=(b)", "5;a=\"b", "5;a=\"b\"c",
           "5;a=\"b\"\"c\"", "5;a=\"b\" c", "5;a=\"b\"=c", "5;a=b\"c\"", "5;\"a\"", "5,a", "5;a,b",
           "5;\xe9", "5;a=\xe9", "5;a=\"b\\", "5;a=\"b\" ", "5=a", "5;a?b"));
}

TEST_F(Chunks, HaveExtensionsWithoutControlCharacters) {
  const std::vector<std::string> controls = {
      std::string(1, '\0'), "\x01", "\n", "\x7f", "\rb", "\x0b", "\x1f"};
  for (const std::string& control : controls)
    expect_refused(Status::kBadRequest, {hello("5;a" + control), hello("5;" + control),
                                         hello("5;a=" + control), hello("5;a=\"" + control + "\""),
                                         hello("5;a=\"\\" + control + "\""), hello("5" + control)});
  expect_refused(Status::kBadRequest, {hello("5;a=\"\r\nhello\r\n0\r\n\r\n\"")});
}

TEST_F(Chunks, HaveALimitForExtensions) {
  limits.chunk_extension_bytes = 10;
  expect_content("hello", {hello("5;123456789"), hello("5;1=\"56789\""), hello("5 ;  a = b")});
  expect_content("hellohello", {"5;123456789\r\nhello\r\n" + hello("5;123456789")});
  expect_refused(Status::kContentTooLarge,
                 {hello("5;1234567890"), hello("5;1=\"567890\""), hello("5          ;a"),
                  "5;x=" + std::string(200, 'e')});
  expect_refused(Status::kBadRequest, {hello("5;12345678\x01")});
}

// ---- Trailer section, RFC 9112 §7.1.2 ----

TEST_F(Chunks, MayHaveTrailersBehindThem) {
  EXPECT_EQ(receive(hello_and("X-Sum: 1")).trailers, "X-Sum: 1\r\n");
  EXPECT_EQ(receive(hello_and("X-Sum:1\r\nY:\r\nZ:  a b \t")).trailers,
            "X-Sum: 1\r\nY: \r\nZ: a b\r\n");
  EXPECT_EQ(receive(hello_and("Long: " + std::string(100, 'x'))).trailers,
            "Long: " + std::string(100, 'x') + "\r\n");
  expect_content("hello", {hello_and("X:GET / HTTP/1.1"), hello_and("X: \xe9\ty")});
}

TEST_F(Chunks, HaveTrailersThatAreFieldLines) {
  expect_refused(Status::kBadRequest, each(hello_and, "nonsense", "X : 1", ": 1", ":", " X: 1",
                                           "X: 1\r\n 2", "X(Y): 1", "X\xa0: 1", "X: 1\r2",
                                           "X: 1\n2", "X: \x01", "X\x7f: 1", "X: 1\r\r", "\tX: 1"));
  expect_refused(Status::kBadRequest, {hello_and(std::string("X\0Y: 1", 6)), hello_and("\rX"),
                                       hello_and(std::string("X: \0", 4))});
}

TEST_F(Chunks, HaveNoTrailersThatActAsHeaders) {  // RFC 9110 §6.5.1
  expect_refused(Status::kBadRequest,
                 each(hello_and, "Content-Length: 5", "transfer-encoding: chunked", "HOST: h",
                      "Authorization: Basic AAAA", "X: y\r\nConnection: close", "Content-Type: x"));
}

TEST_F(Chunks, HaveALimitForTrailers) {
  limits.trailer_bytes = 20;
  expect_content("hello",
                 {hello_and("X: " + std::string(15, 'x')), hello_and("A: 3456\r\nB: 345678")});
  expect_refused(Status::kRequestHeaderFieldsTooLarge,
                 {hello_and("X: " + std::string(16, 'x')), hello_and("X: " + std::string(17, 'x')),
                  hello_and("A: 3456\r\nB: 3456789"), hello_and("A:\r\nB:\r\nC:\r\nD:\r\nE:\r\nF:"),
                  "0\r\n" + std::string(100, 'x'), "0\r\nX: " + std::string(16, 'x') + "\x01"});
  expect_refused(Status::kBadRequest, {"0\r\nX: " + std::string(15, 'x') + "\x01"});
  limits.trailer_bytes = 0;
  expect_content("hello", {hello("5")});
  expect_refused(Status::kRequestHeaderFieldsTooLarge, {hello_and("X:")});
}

}  // namespace
}  // namespace leantea::h1

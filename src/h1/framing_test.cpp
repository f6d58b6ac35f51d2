// Where the content of a request ends (RFC 9112 §6), and whether its connection may go on (§9.3).
#include "h1/framing.hpp"

#include <ostream>
#include <string>

#include <gtest/gtest.h>

#include "h1/head_parser.hpp"

namespace leantea::h1 {
namespace {

/// The framing in words: "none", "chunked", a length, or "refused" and the status.
class RequestFraming : public testing::Test {
 protected:
  std::string framing_of(const std::string& field_lines, const char* version = "1.1") {
    parse(field_lines, version);
    const auto framing = decide_framing(head_);
    if (!framing) return "refused " + std::to_string(code(framing.error()));
    switch (framing->kind) {
      case Framing::Kind::kNone:
        return "none";
      case Framing::Kind::kChunked:
        return "chunked";
      case Framing::Kind::kLength:
        return std::to_string(framing->length);
    }
    return "";
  }

  bool keeps_alive(const std::string& field_lines, const char* version = "1.1") {
    parse(field_lines, version);
    return wants_keep_alive(head_);
  }

 private:
  void parse(const std::string& field_lines, const char* version) {
    bytes_ = "POST / HTTP/" + std::string(version) + "\r\nHost: h\r\n" + field_lines + "\r\n";
    head_.fields = fields_;
    head_.field_capacity = Limits::kMaxHeaderCount;
    ASSERT_EQ(parse_head(bytes_, limits_, head_).kind, HeadResult::Kind::kComplete) << bytes_;
  }

  Limits limits_;
  std::string bytes_;
  http::FieldPlace fields_[Limits::kMaxHeaderCount];
  http::RequestHead head_;
};

using Length = RequestFraming;
using Chunked = RequestFraming;
using KeepAlive = RequestFraming;

// ---- Content-Length, RFC 9110 §8.6, RFC 9112 §6.3 ----

TEST_F(Length, IsANumber) {
  EXPECT_EQ(framing_of(""), "none");
  EXPECT_EQ(framing_of("Content-Length: 5\r\n"), "5");
  EXPECT_EQ(framing_of("content-length:\t 5 \t\r\n"), "5");
  EXPECT_EQ(framing_of("Content-Length: 0\r\n"), "none");
  EXPECT_EQ(framing_of("Content-Length: 000\r\n"), "none");
  EXPECT_EQ(framing_of("Content-Length: 0017\r\n"), "17") << "never octal";
  EXPECT_EQ(framing_of("Content-Length: " + std::string(40, '0') + "5\r\n"), "5");
  EXPECT_EQ(framing_of("Content-Length: 18446744073709551615\r\n"), "18446744073709551615");
  EXPECT_EQ(framing_of("Content-Length: 5\r\n", "1.0"), "5");
}

TEST_F(Length, IsNothingElse) {
  for (const char* value : {"",
                            "+5",
                            "-5",
                            "-0",
                            "0x5",
                            "5x",
                            "0_5",
                            "5.0",
                            "5e1",
                            "5 5",
                            "0\t5",
                            "five",
                            "5,",
                            ",5",
                            "5, 5",
                            "5,5",
                            "5, 6",
                            "\"5\"",
                            "5;",
                            "\2405",
                            "\xef\xbc\x95",
                            "18446744073709551616",
                            "18446744073709551621",
                            "36893488147419103237",
                            "99999999999999999999999999999999999999",
                            "55340232221128654853"})
    EXPECT_EQ(framing_of("Content-Length: " + std::string(value) + "\r\n"), "refused 400") << value;
}

TEST_F(Length, ComesOnce) {
  EXPECT_EQ(framing_of("Content-Length: 5\r\nContent-Length: 5\r\n"), "refused 400");
  EXPECT_EQ(framing_of("Content-Length: 5\r\nX: y\r\ncontent-length: 6\r\n"), "refused 400");
  EXPECT_EQ(framing_of("Content-Length:\r\nContent-Length: 5\r\n"), "refused 400");
  EXPECT_EQ(framing_of("Content-Length: 0\r\nContent-Length: 0\r\n"), "refused 400");
}

TEST_F(Length, IsNotThatOfNamesThatLookSimilar) {
  EXPECT_EQ(framing_of("Content_Length: 5\r\nContent-Lengthy: 5\r\nX-Content-Length: 5\r\n"),
            "none");
}

TEST_F(Length, IsNotSwitchedOffByConnection) {  // RFC 9110 §7.6.1
  EXPECT_EQ(framing_of("Connection: Content-Length\r\nContent-Length: 5\r\n"), "5");
  EXPECT_EQ(framing_of("Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n"),
            "chunked");
}

// ---- Transfer-Encoding, RFC 9112 §6.1 ----

TEST_F(Chunked, IsTheOnlyCoding) {
  EXPECT_EQ(framing_of("Transfer-Encoding: chunked\r\n"), "chunked");
  EXPECT_EQ(framing_of("transfer-encoding:\tCHUNKED \r\n"), "chunked");
  EXPECT_EQ(framing_of("Transfer-Encoding: chunked\r\n", "1.2"), "chunked");
}

TEST_F(Chunked, WithOtherCodingsInFrontIsNotImplemented) {
  for (const char* value :
       {"gzip, chunked", "zigzag , chunked", "identity,chunked", "br, gzip, chunked"})
    EXPECT_EQ(framing_of("Transfer-Encoding: " + std::string(value) + "\r\n"), "refused 501")
        << value;
  EXPECT_EQ(framing_of("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), "refused 501");
}

TEST_F(Chunked, IsTheLastCodingAndComesOnce) {  // RFC 9112 §6.3 item 4
  for (const char* value :
       {"gzip", "identity", "chunked, gzip", "chunked, identity", "chunked, chunked",
        "chunked,chunked", "gzip, chunked, gzip", "chunked, zigzag, chunked"})
    EXPECT_EQ(framing_of("Transfer-Encoding: " + std::string(value) + "\r\n"), "refused 400")
        << value;
  EXPECT_EQ(framing_of("Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n"), "refused 400");
  EXPECT_EQ(framing_of("Transfer-Encoding: chunked\r\nX: y\r\nTransfer-Encoding: chunked\r\n"),
            "refused 400");
  EXPECT_EQ(framing_of("Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n"), "refused 400");
}

TEST_F(Chunked, IsNotGuessedAt) {
  for (const char* value : {"",
                            ",",
                            "chunked,",
                            ",chunked",
                            ", chunked",
                            "gzip,, chunked",
                            "chunked;",
                            "chunked;q=1",
                            "x;chunked",
                            ":chunked",
                            "=chunked",
                            "\"chunked\"",
                            "'chunked'x y",
                            "chunked x",
                            "xchunked y",
                            "chunked\x85",
                            "\240chunked",
                            "chun\342\204\252ed",
                            "chunked\t,\tchunked",
                            "chunk ed",
                            "(chunked)"})
    EXPECT_EQ(framing_of("Transfer-Encoding: " + std::string(value) + "\r\n"), "refused 400")
        << value;
}

TEST_F(Chunked, DoesNotStandBesideALength) {  // RFC 9112 §6.1: how requests are smuggled
  for (const char* length : {"0", "5", "x", ""})
    for (const char* coding : {"chunked", "gzip", "", "\"chunked\"", "chunked, chunked"})
      EXPECT_EQ(framing_of("Content-Length: " + std::string(length) +
                           "\r\nTransfer-Encoding: " + std::string(coding) + "\r\n"),
                "refused 400");
}

TEST_F(Chunked, IsNotOfHttp10) {
  EXPECT_EQ(framing_of("Transfer-Encoding: chunked\r\n", "1.0"), "refused 400");
}

// ---- Persistence, RFC 9112 §9.3 ----

TEST_F(KeepAlive, IsTheRuleIn11AndTheExceptionIn10) {
  EXPECT_TRUE(keeps_alive(""));
  EXPECT_FALSE(keeps_alive("", "1.0"));
  EXPECT_TRUE(keeps_alive("Connection: keep-alive\r\n"));
  EXPECT_TRUE(keeps_alive("Connection: Keep-Alive\r\n", "1.0"));
  EXPECT_TRUE(keeps_alive("Connection: upgrade\r\n"));
  EXPECT_FALSE(keeps_alive("Connection: upgrade\r\n", "1.0"));
}

TEST_F(KeepAlive, EndsWithCloseWhereverItStands) {
  for (const char* version : {"1.0", "1.1"}) {
    for (const char* lines :
         {"Connection: close\r\n", "connection: CLOSE\r\n", "Connection: keep-alive, close\r\n",
          "Connection: close, keep-alive\r\n", "Connection: ,,a ,\tclose\t,b\r\n",
          "Connection: keep-alive\r\nConnection: close\r\n",
          "Connection: close\r\nConnection: keep-alive\r\n"})
      EXPECT_FALSE(keeps_alive(lines, version)) << version << " " << lines;
  }
}

TEST_F(KeepAlive, IsAnOptionNotAPartOfOne) {
  EXPECT_TRUE(keeps_alive("Connection: closed, close-not, x=close\r\n"));
  EXPECT_TRUE(keeps_alive("Close: yes\r\nProxy-Connection: close\r\n"));
  EXPECT_FALSE(keeps_alive("Connection: keep-alives, keep alive\r\n", "1.0"));
}

}  // namespace
}  // namespace leantea::h1

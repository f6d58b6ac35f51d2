// RFC 9112 §6, §7: where the content of a request ends. What two readers could see differently is refused: that is
// how requests are smuggled (§11.2).
#include "conformance/rule.hpp"

namespace leantea::test {
namespace {

TEST(ContentLength, IsOneNumber) {
  const Rule rules[] = {
      {"9112 §6.2", "so many bytes", post("Content-Length: 5\r\n", "hello"), "200 hello / open"},
      {"9112 §6.2", "none", post("Content-Length: 0\r\n", ""), "200 / open"},
      {"9110 §8.6", "leading zeros are digits", post("Content-Length: 0005\r\n", "hello"),
       "200 hello / open"},
      {"9112 §6.3", "without any, there is no content", post("", ""), "200 / open"},
      {"9110 §8.6", "a sign", post("Content-Length: +5\r\n", "hello"), kRefused},
      {"9110 §8.6", "negative", post("Content-Length: -5\r\n", "hello"), kRefused},
      {"9110 §8.6", "hexadecimal", post("Content-Length: 0x5\r\n", "hello"), kRefused},
      {"9110 §8.6", "empty", post("Content-Length:\r\n", "hello"), kRefused},
      {"9110 §8.6", "a space within", post("Content-Length: 1 0\r\n", "hello"), kRefused},
      {"9112 §6.3", "a list", post("Content-Length: 5, 5\r\n", "hello"), kRefused},
      {"9112 §6.3", "twice", post("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), kRefused},
      {"9112 §6.3", "two different", post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"),
       kRefused},
      {"9110 §8.6", "beyond 64 bits", post("Content-Length: 18446744073709551621\r\n", "hello"),
       kRefused},
  };
  expect_rules(rules);
}

TEST(TransferEncoding, IsChunkedAlone) {
  const std::string body = "5\r\nhello\r\n0\r\n\r\n";
  const std::string_view unknown = "501 Not Implemented / lingering";
  const Rule rules[] = {
      {"9112 §7.1", "chunked", chunked(body), "200 hello / open"},
      {"9110 §10.1.4", "codings have no case", post("Transfer-Encoding: CHUNKED\r\n", body),
       "200 hello / open"},
      {"9112 §6.1", "with a length",
       post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", body), kRefused},
      {"9112 §6.1", "and the other way round",
       post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", body), kRefused},
      {"9112 §6.1", "in HTTP/1.0",
       "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + body, kRefused},
      {"9112 §6.1", "a coding that is not known",
       post("Transfer-Encoding: gzip, chunked\r\n", body), unknown},
      {"9112 §6.1", "chunked twice", post("Transfer-Encoding: chunked, chunked\r\n", body),
       kRefused},
      {"9112 §6.1", "chunked on two lines",
       post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", body), kRefused},
      {"9112 §5.1", "a name with a space", post("Transfer-Encoding : chunked\r\n", body), kRefused},
      {"9112 §5.2", "on a folded line", post("Transfer-Encoding:\r\n chunked\r\n", body), kRefused},
  };
  expect_rules(rules);
}

TEST(Chunks, HaveASizeAndALineEnd) {
  const Rule rules[] = {
      {"9112 §7.1", "sizes are hexadecimal", chunked("A\r\n0123456789\r\n0\r\n\r\n"),
       "200 0123456789 / open"},
      {"9112 §7.1", "in either case", chunked("a\r\n0123456789\r\n0\r\n\r\n"),
       "200 0123456789 / open"},
      {"9112 §7.1", "leading zeros", chunked("005\r\nhello\r\n00\r\n\r\n"), "200 hello / open"},
      {"9112 §7.1.1", "extensions are ignored",
       chunked("5;a;b=c;d=\"e\\\";f\"\r\nhello\r\n0\r\n\r\n"), "200 hello / open"},
      {"9112 §7.1.2", "trailer fields", chunked("5\r\nhello\r\n0\r\nX: y\r\n\r\n"),
       "200 hello / open"},
      {"9112 §7.1", "no size", chunked("\r\nhello\r\n0\r\n\r\n"), kRefused},
      {"9112 §7.1", "a prefix", chunked("0x5\r\nhello\r\n0\r\n\r\n"), kRefused},
      {"9112 §7.1", "a sign", chunked("+5\r\nhello\r\n0\r\n\r\n"), kRefused},
      {"9112 §7.1", "a space before the size", chunked(" 5\r\nhello\r\n0\r\n\r\n"), kRefused},
      {"9112 §7.1", "beyond 64 bits", chunked("10000000000000005\r\nhello\r\n0\r\n\r\n"), kRefused},
      {"9112 §7.1", "more bytes than the size says", chunked("5\r\nhello!\r\n0\r\n\r\n"), kRefused},
      {"9112 §2.2", "a bare LF after the size", chunked("5\nhello\r\n0\r\n\r\n"), kRefused},
      {"9112 §2.2", "a bare LF after the data", chunked("5\r\nhello\n0\r\n\r\n"), kRefused},
      {"9112 §7.1.1", "an extension without a name", chunked("5;\x01\r\nhello\r\n0\r\n\r\n"),
       kRefused},
      {"9110 §6.5.1", "framing in a trailer",
       chunked("5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n"), kRefused},
      {"9110 §6.5.1", "routing in a trailer", chunked("5\r\nhello\r\n0\r\nHost: b\r\n\r\n"),
       kRefused},
      {"9112 §5.2", "a folded trailer", chunked("5\r\nhello\r\n0\r\nX: y\r\n z\r\n\r\n"), kRefused},
  };
  expect_rules(rules);
}

TEST(Smuggling, HasNothingToHideIn) {
  const std::string hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
  const Rule rules[] = {
      {"9112 §11.2", "a request in a body is a body", post("Content-Length: 33\r\n", hidden), ""},
      {"9112 §11.2", "TE.CL",
       post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + hidden), kRefused},
      {"9112 §11.2", "an obscured coding, and no chunked at the end",
       post("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n" + hidden), kRefused},
      {"9112 §11.2", "a coding behind a tab",
       post("Transfer-Encoding:\x0b"
            "chunked\r\n",
            "0\r\n\r\n" + hidden),
       kRefused},
  };
  EXPECT_EQ(outcome_at_every_split(rules[0].bytes), "200 " + hidden + " / open");
  for (std::size_t i = 1; i < std::size(rules); ++i)
    EXPECT_EQ(outcome_at_every_split(rules[i].bytes), rules[i].outcome) << rules[i].why;
}

}  // namespace
}  // namespace leantea::test

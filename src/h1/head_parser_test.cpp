// The rules of RFC 9112 §2 to §5 as the head parser keeps them. Every input is delivered whole, cut in
// two at every place, and byte by byte, always directly at an unreadable page; all must give one
// answer.
#include "h1/head_parser.hpp"

#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "h1/delivery_test.hpp"
#include "http/target.hpp"

namespace leantea::h1 {

using Kind = HeadResult::Kind;

static void PrintTo(const HeadResult& result, std::ostream* out) {
  switch (result.kind) {
    case Kind::kComplete:
      *out << "complete after " << result.consumed << " bytes";
      break;
    case Kind::kIncomplete:
      *out << "incomplete";
      break;
    case Kind::kError:
      *out << "refused with " << code(result.error);
      break;
  }
}

static bool operator==(const HeadResult& a, const HeadResult& b) {
  if (a.kind != b.kind) return false;
  return a.kind == Kind::kComplete ? a.consumed == b.consumed
                                   : a.kind == Kind::kIncomplete || a.error == b.error;
}

namespace {

/// A head that was read, in words that can be compared.
struct Reading {
  HeadResult result;
  std::string text;  ///< method, target, version, then a line per field

  bool operator==(const Reading&) const = default;
};

void PrintTo(const Reading& reading, std::ostream* out) {
  PrintTo(reading.result, out);
  *out << "\n" << reading.text;
}

class HeadParser : public testing::Test {
 protected:
  Limits limits;
  http::RequestHead head;

  HeadParser() {
    head.fields = fields_;
    head.field_capacity = Limits::kMaxHeaderCount;
  }

  Reading parse_once(std::string_view bytes) {
    Reading reading{.result = parse_head(memory_.put(bytes), limits, head), .text = {}};
    if (reading.result.kind == Kind::kComplete) reading.text = words();
    return reading;
  }

  enum class Caller {
    kEager,  ///< parses whenever something came
    kLazy,   ///< parses when needs_parse() or head_bytes_bound() says that it must
  };

  /// What the caller is told in the end when the bytes come in these pieces.
  Reading deliver(std::string_view bytes, const std::vector<std::size_t>& piece_ends,
                  Caller caller) {
    Reading last{.result = {.kind = Kind::kIncomplete}, .text = {}};
    std::size_t before = 0;
    for (const std::size_t end : piece_ends) {
      const std::string_view fresh = bytes.substr(before, end - before);
      const bool must =
          before == 0 || needs_parse(bytes[before - 1], fresh) || end >= head_bytes_bound(limits);
      before = end;
      if (caller == Caller::kLazy && !must) continue;
      last = parse_once(bytes.substr(0, end));
      if (last.result.kind != Kind::kIncomplete) break;
    }
    return last;
  }

  /// True when the last line is over a limit before its end has come: a lazy caller learns later
  /// that it is refused.
  static bool is_refused_before_its_end(const HeadResult& result, std::string_view bytes) {
    return result.kind == Kind::kError && !needs_parse(bytes.substr(bytes.rfind('\n') + 1));
  }

  /// Delivers the bytes in every way, and returns the answer that all of them gave.
  Reading receive(std::string_view bytes) {
    const Reading whole = parse_once(bytes);
    for (const auto& piece_ends : test::all_deliveries(bytes.size())) {
      const auto where = [&] {
        return "for " + testing::PrintToString(std::string(bytes)) + "\nin pieces that end at " +
               testing::PrintToString(piece_ends);
      };
      EXPECT_EQ(whole, deliver(bytes, piece_ends, Caller::kEager)) << where();
      const Reading lazy = deliver(bytes, piece_ends, Caller::kLazy);
      if (lazy.result.kind == Kind::kIncomplete && is_refused_before_its_end(whole.result, bytes))
        continue;
      EXPECT_EQ(whole, lazy) << where();
    }
    return parse_once(bytes);  // so that `head` is of the whole
  }

  void expect_refused(Status status, const std::vector<std::string>& inputs) {
    for (const std::string& bytes : inputs)
      EXPECT_EQ(receive(bytes).result, (HeadResult{.kind = Kind::kError, .error = status}))
          << "for " << testing::PrintToString(bytes);
  }
  void expect_incomplete(const std::vector<std::string>& inputs) {
    for (const std::string& bytes : inputs)
      EXPECT_EQ(receive(bytes).result, HeadResult{.kind = Kind::kIncomplete})
          << "for " << testing::PrintToString(bytes);
  }
  /// The head is taken, and it is all of the bytes.
  void expect_taken(const std::vector<std::string>& inputs) {
    for (const std::string& bytes : inputs) {
      const auto size = static_cast<std::uint32_t>(bytes.size());
      EXPECT_EQ(receive(bytes).result, (HeadResult{.kind = Kind::kComplete, .consumed = size}))
          << "for " << testing::PrintToString(bytes);
    }
  }

 private:
  std::string words() const {
    std::string text{to_string(head.method)};
    text.append(" ").append(head.target());
    text += head.version == Version::kHttp11 ? " 1.1\n" : " 1.0\n";
    for (const http::FieldPlace& field : head.field_places())
      text.append(head.name(field)).append("=").append(head.value(field)).append("\n");
    return text;
  }

  http::FieldPlace fields_[Limits::kMaxHeaderCount];
  test::EndOfMemory memory_{96 * 1024};
};

/// A head with this request line, that lacks nothing else.
std::string with_line(std::string_view request_line) {
  return std::string(request_line) + "\r\nHost: h\r\n\r\n";
}
/// A head with this in its header section, in front of the field that it must have.
std::string with_field(std::string_view field_line) {
  return "GET / HTTP/1.1\r\n" + std::string(field_line) + "\r\nHost: h\r\n\r\n";
}

template <typename... Strings>
std::vector<std::string> each(std::string (*wrap)(std::string_view), Strings... strings) {
  return {wrap(strings)...};
}

// ---- Request line, RFC 9112 §3 ----

TEST_F(HeadParser, TakesAHeadApart) {
  const Reading reading = receive(
      "POST /a/b?c HTTP/1.1\r\nHost: example.test\r\nContent-Length:5\r\nX-Empty:\r\n"
      "X-Spaced: \t a  b \t\r\n\r\nhello");
  EXPECT_EQ(reading.result, (HeadResult{.kind = Kind::kComplete, .consumed = 92}));
  EXPECT_EQ(reading.text,
            "POST /a/b?c 1.1\nHost=example.test\nContent-Length=5\nX-Empty=\nX-Spaced=a  b\n");
  EXPECT_EQ(head.size, 92);
}

TEST_F(HeadParser, KnowsItsMethods) {
  for (const char* method :
       {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}) {
    expect_taken({with_line(method + std::string(" /x HTTP/1.1"))});
    EXPECT_EQ(to_string(head.method), method);
  }
}

TEST_F(HeadParser, OtherMethodsAreNotImplemented) {  // RFC 9110 §9.1: case-sensitive tokens
  expect_refused(Status::kNotImplemented,
                 each(with_line, "get / HTTP/1.1", "Get / HTTP/1.1", "GE / HTTP/1.1",
                      "GETS / HTTP/1.1", "G / HTTP/1.1", "POSTS / HTTP/1.1", "HEADS / HTTP/1.1",
                      "BREW / HTTP/1.1", "PROPFIND / HTTP/1.1", "!#$%&'*+-.^_`|~09Az / HTTP/1.1"));
}

TEST_F(HeadParser, AMethodIsAToken) {  // RFC 9110 §5.6.2
  expect_refused(Status::kBadRequest,
                 each(with_line, "G(T / HTTP/1.1", "G\xc9T / HTTP/1.1", "GET\x7f / HTTP/1.1",
                      "G\x01T / HTTP/1.1", "\"GET\" / HTTP/1.1", "GET: / HTTP/1.1",
                      "GET, / HTTP/1.1", "HTTP/1.1 200 OK"));
}

TEST_F(HeadParser, AnEndlessMethodIsNotImplemented) {  // RFC 9112 §3
  expect_refused(Status::kNotImplemented,
                 {std::string(200, 'A'), std::string(200, 'A') + " / HTTP/1.1\r\n\r\n"});
  expect_refused(Status::kBadRequest, {std::string(200, '"')});
  expect_incomplete({std::string(40, 'A')});
}

TEST_F(HeadParser, HasSingleSpacesBetweenItsParts) {
  expect_refused(
      Status::kBadRequest,
      each(with_line, "GET  / HTTP/1.1", "GET /  HTTP/1.1", " GET / HTTP/1.1", "GET / HTTP/1.1 ",
           "GET\t/\tHTTP/1.1", "GET\v/ HTTP/1.1", "GET /a b HTTP/1.1", "GET / x HTTP/1.1", "GET",
           "GET ", "GET /", "GET / ", "GET  HTTP/1.1", " ", "GET /\tHTTP/1.1", "EHLO mail.test"));
}

TEST_F(HeadParser, DoesNotSpeakHttp09) { expect_refused(Status::kBadRequest, {"GET /\r\n"}); }

TEST_F(HeadParser, JudgesLinesOnlyAtTheirEnd) {
  expect_incomplete({"", "G", "GET", "GET /", "GET / HTTP", "GET / HTTP/1.1", "GET / HTTP/1.1\r",
                     "nonsense", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nbad line",
                     "GET / HTTP/1.1\r\nHost: h\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r"});
}

TEST_F(HeadParser, RefusesOtherProtocolsAtTheFirstByteThatNoLineHolds) {
  expect_refused(Status::kBadRequest, {"\x16\x03\x01", std::string("GET /\0", 6), "\x04\x01\r",
                                       "SSH-2.0-x\r\n", "GET / HTTP/1.1\r\nHost: h\r\nX\x01"});
}

// ---- Version, RFC 9112 §2.3 ----

TEST_F(HeadParser, KnowsItsVersions) {
  expect_taken({"GET / HTTP/1.0\r\n\r\n"});
  EXPECT_EQ(head.version, Version::kHttp10);
  // RFC 9110 §6.2: a minor version that is not known is the highest known one.
  for (const char* line : {"GET / HTTP/1.1", "GET / HTTP/1.2", "GET / HTTP/1.9"}) {
    expect_taken({with_line(line)});
    EXPECT_EQ(head.version, Version::kHttp11) << line;
  }
}

TEST_F(HeadParser, OtherMajorVersionsAreNotSupported) {
  expect_refused(Status::kHttpVersionNotSupported,
                 {with_line("GET / HTTP/0.9"), with_line("GET / HTTP/2.0"),
                  with_line("GET / HTTP/9.7"), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"});
}

TEST_F(HeadParser, AVersionHasOneForm) {
  expect_refused(Status::kBadRequest,
                 each(with_line, "GET / HTTP/1.10", "GET / HTTP/11", "GET / HTTP/1", "GET / HTTP/2",
                      "GET / HTTP/01.1", "GET / HTTP/1.1x", "GET / HTTP/1,1", "GET / HTTP/ 1.1",
                      "GET / http/1.1", "GET / Http/1.1", "GET / HTTPS/1.1", "GET / HTTP-1.1",
                      "GET / HTTP/-1.1", "GET / HTTP/1.", "GET / HTTP/.1", "GET / HTTP/A.1",
                      "GET / HTTP/1.B", "GET / HTTP/4294967297.1", "GET / 1.1", "GET / FTP/1.1"));
}

TEST_F(HeadParser, SaysTheMethodOfWhatItRefuses) {  // the answer to HEAD has no content
  for (const char* bytes : {"HEAD / HTTP/1.1\r\n\r\n", "HEAD / HTTP/2.0\r\n", "HEAD /\r\n"}) {
    head.method = Method::kGet;
    parse_once(bytes);
    EXPECT_EQ(head.method, Method::kHead) << bytes;
  }
  head.method = Method::kGet;
  parse_once("HEADS / HTTP/1.1\r\n");
  EXPECT_EQ(head.method, Method::kGet);
}

// ---- Line ends, RFC 9112 §2.2 ----

TEST_F(HeadParser, LinesEndInCrLfOnly) {
  expect_refused(Status::kBadRequest,
                 {"GET / HTTP/1.1\nHost: h\r\n\r\n", "GET / HTTP/1.1\rHost: h\r\n\r\n",
                  "GET / HTTP/1.1\r\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\n\r\n",
                  "GET / HTTP/1.1\r\nHost: h\r\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\n",
                  "GET / HTTP/1.1\r\nHost: h\r\n\r\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\rX",
                  "GET /\r HTTP/1.1\r\n", "GET /\n HTTP/1.1\r\n", "GET / HTTP/1.1\rX"});
}

TEST_F(HeadParser, TakesEmptyLinesInFrontUpToABound) {
  limits.leading_empty_lines = 2;
  const Reading reading = receive("\r\n\r\n" + with_line("GET /x HTTP/1.1"));
  EXPECT_EQ(reading.text, "GET /x 1.1\nHost=h\n");
  expect_taken({"\r\n" + with_line("GET / HTTP/1.1")});
  expect_refused(Status::kBadRequest,
                 {"\r\n\r\n\r\nGET / HTTP/1.1", "\n", "\r\r", "\r\n\n", "\r\nX\n"});
  expect_incomplete({"\r", "\r\n", "\r\n\r", "\r\n\r\n", "\r\n\r\nGET"});
  limits.leading_empty_lines = 0;
  expect_refused(Status::kBadRequest, {"\r", "\r\nGET / HTTP/1.1"});
}

// ---- Field lines, RFC 9112 §5 ----

TEST_F(HeadParser, AFieldNameIsATokenWithAColonBehindIt) {
  expect_taken(each(with_field, "X: 1", "X:1", "X:", "x-y_z: 1", "!#$%&'*+-.^_`|~09Az: 1",
                    "A-name-that-is-longer-than-any-block-that-is-looked-at-in-one-go: 1",
                    "X::", "X: :"));
  expect_refused(
      Status::kBadRequest,
      each(with_field, "X : 1", "X\t: 1", ": 1", ":", "X", "X 1", "X(Y): 1", "X/Y: 1", "X\"Y\": 1",
           "X,Y: 1", "X;Y: 1", "X=Y: 1", "X@Y: 1", "X[Y]: 1", "X{Y}: 1", "X\\Y: 1", "X?Y: 1",
           "X<Y>: 1", "X\xa0: 1", "\xff: 1", "\xff", "X\x7f: 1", "X\rY: 1", "X\nY: 1",
           "Content-Length\xa0: 1", "Content-Length : 1", "Transfer-\r\nEncoding: x",
           "A-name-that-is-longer-than-any-block-that-is-looked-at-in-one-go : 1"));
}

TEST_F(HeadParser, DoesNotUnfoldLines) {  // RFC 9112 §5.2
  expect_refused(Status::kBadRequest, each(with_field, "X: a\r\n b", "X: a\r\n\tb", "X: a\r\n ",
                                           " X: a", "\tX: a", "X: a\r\n Y: b"));
  expect_refused(Status::kBadRequest, {"GET / HTTP/1.1\r\n Host: h\r\n\r\n"});
}

TEST_F(HeadParser, AValueHasNoControlCharactersButTab) {  // RFC 9110 §5.5
  expect_taken(each(with_field, "X: a\tb", "X:\t", "X: \xc3\xa9", "X: \x80\xff", "X: \"\\(),;<>",
                    "X: a value that is longer than 16 bytes\tand has a tab"));
  for (int octet = 0; octet < 0x20; ++octet) {
    if (octet == '\t') continue;
    const std::string control(1, static_cast<char>(octet));
    expect_refused(Status::kBadRequest,
                   {with_field("X: a" + control + "b"), with_field("X: a" + control),
                    with_field("X: " + std::string(20, 'a') + control + "b"),
                    with_field("X: " + std::string(40, '\xe9') + control + "b")});
  }
  expect_refused(Status::kBadRequest, each(with_field, "X: a\x7f", "X: \xe9\x7f"));
}

TEST_F(HeadParser, AValueHasNoWhiteSpaceAroundIt) {  // RFC 9112 §5.1
  const auto value_of = [this](const std::string& line) {
    receive(with_field(line));
    return std::string(head.value(head.fields[0]));
  };
  EXPECT_EQ(value_of("X:a"), "a");
  EXPECT_EQ(value_of("X: a"), "a");
  EXPECT_EQ(value_of("X:  a  "), "a");
  EXPECT_EQ(value_of("X: \t a b\t \t"), "a b");
  EXPECT_EQ(value_of("X:"), "");
  EXPECT_EQ(value_of("X: "), "");
  EXPECT_EQ(value_of("X: \t \t"), "");
  EXPECT_EQ(value_of("X:" + std::string(40, ' ')), "");
  EXPECT_EQ(value_of("X:" + std::string(40, ' ') + "a" + std::string(40, '\t')), "a");
}

TEST_F(HeadParser, NamesOfAnySizeAndValuesOfAnySize) {
  limits.header_bytes = 600;
  for (std::size_t name_size = 1; name_size <= 40; ++name_size) {
    for (std::size_t value_size = 0; value_size <= 40; ++value_size) {
      const std::string name(name_size, 'n'), value(value_size, 'v');
      const Reading reading = parse_once(with_field(name + ": " + value));
      EXPECT_EQ(reading.text, "GET / 1.1\n" + name + "=" + value + "\nHost=h\n");
    }
  }
}

TEST_F(HeadParser, NotesTheNamesItKnows) {
  using http::FieldName;
  receive(
      "GET / HTTP/1.1\r\nhOST: h\r\nconnection: close\r\nCONNECTION: x\r\nTe: trailers\r\n"
      "Content-Lengthy: 1\r\nContent_Length: 2\r\nExpect: x\r\n\r\n");
  EXPECT_EQ(head.find(FieldName::kHost), "h");
  EXPECT_EQ(head.find(FieldName::kConnection), "close");
  EXPECT_EQ(head.find(FieldName::kContentLength), std::nullopt);
  EXPECT_EQ(head.find(FieldName::kUpgrade), std::nullopt);
  EXPECT_TRUE(head.present.has(FieldName::kTe));
  EXPECT_TRUE(head.present.has(FieldName::kExpect));
  EXPECT_TRUE(head.repeated.has(FieldName::kConnection));
  EXPECT_FALSE(head.repeated.has(FieldName::kHost));
  receive(with_line("GET / HTTP/1.1"));
  EXPECT_FALSE(head.present.has(FieldName::kConnection)) << "a head does not inherit";
  EXPECT_FALSE(head.repeated.has(FieldName::kConnection));
}

// ---- Host, RFC 9112 §3.2 ----

TEST_F(HeadParser, ThereIsOneHost) {
  expect_refused(Status::kBadRequest, {"GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nX: h\r\n\r\n",
                                       "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n",
                                       "GET / HTTP/1.1\r\nHost: h\r\nX: y\r\nhost: i\r\n\r\n",
                                       "GET / HTTP/1.0\r\nHost: h\r\nHost: i\r\n\r\n",
                                       "GET http://h/ HTTP/1.1\r\n\r\n", "GET / HTTP/1.2\r\n\r\n"});
  expect_taken({"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\nHost: h\r\n\r\n",
                "GET / HTTP/1.1\r\nHost:\r\n\r\n"});
}

// ---- Limits ----

TEST_F(HeadParser, ATargetHasALimit) {  // RFC 9112 §3: 414
  limits.target_bytes = 30;
  const auto head_with_target = [](std::size_t size) {
    return with_line("GET /" + std::string(size - 1, 'x') + " HTTP/1.1");
  };
  expect_taken({head_with_target(29), head_with_target(30)});
  expect_refused(Status::kUriTooLong,
                 {head_with_target(31), head_with_target(80), "GET /" + std::string(200, 'x'),
                  "PATCH /" + std::string(30, 'x') + " HTTP/1.1\r\n",
                  "BREW /" + std::string(30, 'x'), "GET /" + std::string(30, 'x') + "\x01"});
  expect_refused(Status::kBadRequest,
                 {"G\"T /" + std::string(200, 'x'), "GET / " + std::string(200, 'x'),
                  "GET /" + std::string(29, 'x') + "\x01"});
}

TEST_F(HeadParser, AHeaderSectionHasALimit) {  // RFC 6585 §5: 431
  limits.header_bytes = 60;
  const auto head_with_section = [](std::size_t size) {  // "Host: h" and one more line
    return with_field("X: " + std::string(size - 9 - 5, 'x'));
  };
  expect_taken({head_with_section(59), head_with_section(60)});
  expect_refused(Status::kRequestHeaderFieldsTooLarge,
                 {head_with_section(61), head_with_section(62), head_with_section(63),
                  head_with_section(100), "GET / HTTP/1.1\r\n" + std::string(70, 'x'),
                  "GET / HTTP/1.1\r\nX: " + std::string(56, 'x') + "\x01"});
  expect_refused(Status::kBadRequest, {"GET / HTTP/1.1\r\nX: " + std::string(55, 'x') + "\x01",
                                       "GET / HTTP/1.1\r\nX " + std::string(50, 'x') + "\r\n"});
}

TEST_F(HeadParser, TheNumberOfFieldsHasALimit) {
  limits.header_count = 3;
  expect_taken({"GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nHost: h\r\n\r\n"});
  expect_refused(Status::kRequestHeaderFieldsTooLarge,
                 {"GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nHost: h\r\nC: 3\r\n"});
  expect_refused(Status::kBadRequest, {"GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nHost: h\r\nC : 3\r\n",
                                       "GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nHost: h\r\n C\r\n"});
  expect_incomplete({"GET / HTTP/1.1\r\nA: 1\r\nB: 2\r\nHost: h\r\nC: 3\r"});
}

TEST_F(HeadParser, NoIncompleteHeadIsLongerThanItsBound) {
  limits = {.target_bytes = 20, .header_bytes = 50, .header_count = 4, .leading_empty_lines = 2};
  const std::size_t bound = head_bytes_bound(limits);
  std::vector<std::string> beginnings = {"", "\r\n\r\n", "\r\n\r\nGET ",
                                         "\r\n\r\nGET /" + std::string(19, 'x') + " HTTP/1.1\r\n",
                                         "\r\n\r\nGET /" + std::string(19, 'x') + " "};
  beginnings.push_back(beginnings[3] + "A: " + std::string(45, 'x') + "\r\n");
  beginnings.push_back(beginnings[3] + "A: " + std::string(44, 'x') + "\r\n");
  for (std::string bytes : beginnings) {
    bytes.resize(bound, 'x');
    EXPECT_NE(parse_once(bytes).result.kind, Kind::kIncomplete) << bytes;
    bytes.back() = '\r';
    EXPECT_NE(parse_once(bytes).result.kind, Kind::kIncomplete) << bytes;
  }
}

TEST_F(HeadParser, TakesTheLargestHeadThatLimitsMayAllow) {
  limits.target_bytes = 40'000;
  limits.header_bytes = Limits::kMaxHeadBytes - http::kRequestLineOverhead - 2 - 40'000;
  ASSERT_TRUE(limits.check());
  const std::string line = "GET /" + std::string(39'999, 't') + " HTTP/1.1";
  const std::string value(limits.header_bytes - 9 - 5, 'v');
  const std::string bytes = line + "\r\nHost: h\r\nX: " + value + "\r\n\r\n";
  EXPECT_EQ(
      parse_once(bytes).result,
      (HeadResult{.kind = Kind::kComplete, .consumed = static_cast<std::uint32_t>(bytes.size())}));
  EXPECT_EQ(head.value(head.fields[1]), value);
}

// ---- What comes behind ----

TEST_F(HeadParser, LeavesWhatComesBehindTheHead) {
  const std::string first = with_line("GET /1 HTTP/1.1");
  const std::string second = with_line("GET /2 HTTP/1.1");
  const Reading reading = receive(first + second);
  EXPECT_EQ(reading.result.consumed, first.size());
  EXPECT_EQ(reading.text, "GET /1 1.1\nHost=h\n");
}

TEST_F(HeadParser, AMovedHeadNeedsOnlyItsBytesSet) {
  std::string bytes = "\r\n" + with_line("GET /here HTTP/1.1");
  parse_once(bytes);
  const std::string copy{head.bytes, head.size};
  EXPECT_EQ(copy, bytes.substr(2));
  head.bytes = copy.data();
  EXPECT_EQ(head.target(), "/here");
  EXPECT_EQ(head.find(http::FieldName::kHost), "h");
}

// ---- What the head knows of itself ----

TEST_F(HeadParser, CallsAPathPlainOnlyWhereResolvingChangesNothing) {
  std::size_t plain = 0;
  for (const std::string target :
       {"/",    "/health", "/a/b/", "//a",  "/a:b@c",
        "/a?b", "/a?",     "/.",    "/a.b", "/a/../b",
        "/%41", "/a%",     "*",     "a",    "http://a/b",
        "/a#b", "/\"",     "/a\\b", "/a|b", "/very/long/path/of/many/words"}) {
    const Reading reading = parse_once("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_EQ(reading.result.kind, Kind::kComplete) << target;
    if (!head.plain_path) continue;
    ++plain;
    std::string scratch(target.size(), '?');
    const auto resolved =
        http::resolve_target(Method::kGet, head.target(), scratch.data(), scratch.size());
    ASSERT_TRUE(resolved) << target;
    EXPECT_EQ(resolved->path, target);
    EXPECT_EQ(resolved->query, "");
    EXPECT_EQ(resolved->authority, "");
  }
  EXPECT_GE(plain, 5U);
}

TEST_F(HeadParser, FindsTheFirstFieldOfAName) {
  parse_once("GET / HTTP/1.1\r\nA: 1\r\nHost: a\r\nExpect: one\r\nB: 2\r\nExpect: two\r\n\r\n");
  EXPECT_EQ(head.find(http::FieldName::kHost), "a");
  EXPECT_EQ(head.find(http::FieldName::kExpect), "one");
  EXPECT_EQ(head.find(http::FieldName::kConnection), std::nullopt);
  EXPECT_TRUE(head.repeated.has(http::FieldName::kExpect));
  EXPECT_FALSE(head.repeated.has(http::FieldName::kHost));
}

}  // namespace
}  // namespace leantea::h1

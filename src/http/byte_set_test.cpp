// Sets of characters: the SIMD search against one byte after the other, for every size and place.
#include "http/byte_set.hpp"

#include <string>

#include <gtest/gtest.h>

#include "support/guarded_bytes.hpp"

namespace leantea::http {
namespace {

TEST(ByteSet, HasItsMembersAndNoOthers) {
  constexpr ByteSet kSet{"aZ09-~\x7f\x01"};
  for (int octet = 0; octet < 256; ++octet) {
    const char c = static_cast<char>(octet);
    const bool member = c != 0 && std::string_view("aZ09-~\x7f\x01").contains(c);
    EXPECT_EQ(kSet.has(c), member) << octet;
    EXPECT_EQ(kSet.skip(&c, &c + 1) == &c + 1, member) << octet;
  }
  EXPECT_TRUE(kSet.with("b").has('b'));
  EXPECT_TRUE(kSet.with("b").has('a'));
  EXPECT_FALSE(kSet.has('b'));
}

TEST(ByteSet, SkipsToTheFirstByteThatIsNoMember) {
  for (std::size_t size = 0; size <= 70; ++size) {
    test::GuardedBytes bytes{std::string(size, 'm')};
    char* const begin = bytes.data();
    const char* const end = begin + size;
    EXPECT_EQ(kTokenBytes.skip(begin, end), end);
    for (std::size_t at = 0; at < size; ++at) {
      for (const char other : {'\0', ' ', ':', '\x7f', '\x80', '\xff'}) {
        begin[at] = other;
        EXPECT_EQ(kTokenBytes.skip(begin, end), begin + at);
        if (at + 1 < size) {  // only the first one counts
          begin[at + 1] = other;
          EXPECT_EQ(kTokenBytes.skip(begin, end), begin + at);
          begin[at + 1] = 'm';
        }
      }
      begin[at] = 'm';
    }
  }
}

TEST(ByteSet, OfTokensIsTchar) {  // RFC 9110 §5.6.2
  for (const char c : std::string_view("!#$%&'*+-.^_`|~09azAZ")) EXPECT_TRUE(kTokenBytes.has(c));
  for (const char c : std::string_view("\"(),/:;<=>?@[\\]{} \t\x7f\x80\xff"))
    EXPECT_FALSE(kTokenBytes.has(c));
  EXPECT_TRUE(is_token("chunked"));
  EXPECT_FALSE(is_token(""));
  EXPECT_FALSE(is_token("a b"));
}

TEST(HexValue, IsThatOfTheDigit) {
  EXPECT_EQ(hex_value('0'), 0u);
  EXPECT_EQ(hex_value('9'), 9u);
  EXPECT_EQ(hex_value('a'), 10u);
  EXPECT_EQ(hex_value('F'), 15u);
}

}  // namespace
}  // namespace leantea::http

// The ends of lines and names: whatever the scanner finds, looking at each byte must find too.
#include "h1/line_scanner.hpp"

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/guarded_bytes.hpp"

namespace leantea::h1 {
namespace {

bool is_control(char c) {
  const auto octet = static_cast<unsigned char>(c);
  return (octet < 0x20 && c != '\t') || octet == 0x7f;
}

/// What is behind the line that goes on at `at`, or 0; as next_line() should say it.
std::size_t next_by_bytes(std::string_view section, std::size_t at) {
  while (at < section.size() && !is_control(section[at])) ++at;
  return section.substr(at).starts_with("\r\n") ? at + 2 : 0;
}

/// A line's text of `size` bytes, now and then with what looks like a control character and is none.
std::string text(std::minstd_rand& random, std::size_t size) {
  static constexpr std::string_view kOdd = "\t\x80\xff\xe2\x84\xa2";
  std::string line(size, 'x');
  for (char& c : line) {
    if (random() % 29 == 0) c = kOdd[random() % kOdd.size()];
  }
  return line;
}

TEST(LineScanner, FindsEveryLineEnd) {
  std::minstd_rand random(1);
  for (int round = 0; round < 1000; ++round) {
    std::string section;
    while (section.size() < LineScanner::kReadableBytes || random() % 4 != 0)
      section += text(random, random() % (round % 2 == 0 ? 20 : 150)) + "\r\n";
    const test::GuardedBytes bytes{section};
    const char* const begin = bytes.view().data();
    LineScanner scanner{begin, 0, section.size()};
    for (std::size_t line = 0; line < section.size();) {
      const std::size_t expected = next_by_bytes(section, line);
      ASSERT_EQ(scanner.next_line(line), expected) << testing::PrintToString(section) << line;
      line = expected;
    }
    EXPECT_EQ(scanner.next_line(section.size()), 0U);
  }
}

TEST(LineScanner, FindsNoLineEndBehindAControlCharacter) {
  for (const std::size_t size : {18U, 40U, 63U, 64U, 65U, 100U, 127U, 128U, 129U}) {
    for (std::size_t at = 0; at < size; ++at) {
      for (const char control : {'\0', '\n', '\r', '\x1f', '\x7f'}) {
        std::string section = std::string(size, 'x') + "\r\n";
        section[at] = control;
        const test::GuardedBytes bytes{section};
        const char* const begin = bytes.view().data();
        const std::size_t expected = next_by_bytes(section, 0);
        ASSERT_EQ(LineScanner(begin, 0, section.size()).next_line(0), expected)
            << size << " " << at;
      }
    }
  }
}

TEST(LineScanner, FindsNothingInALineThatIsCut) {
  for (std::size_t size = LineScanner::kReadableBytes; size < 200; ++size) {
    for (const std::string_view last : {"x", "\r"}) {
      const test::GuardedBytes bytes{std::string(size, 'x').append(last)};
      const char* const begin = bytes.view().data();
      LineScanner scanner{begin, 0, bytes.view().size()};
      EXPECT_EQ(scanner.next_line(0), 0U) << size;
    }
  }
}

TEST(LineScanner, FindsTheEndOfAToken) {
  for (const std::size_t size : {18U, 31U, 32U, 33U, 50U}) {
    for (std::size_t at = 0; at < size; ++at) {
      for (const char end : {':', ' ', '\0', '\x80', '\r'}) {
        std::string section(size, 'x');
        section[at] = end;
        const test::GuardedBytes bytes{section};
        const char* const begin = bytes.view().data();
        const LineScanner scanner{begin, 0, size};
        const std::size_t expected = size - at > 2 ? at : LineScanner::kNone;
        ASSERT_EQ(scanner.token_end(0), expected) << size << " " << at;
      }
    }
  }
}

TEST(LineScanner, FindsUsualNamesUpToTheLastLine) {
  for (const std::string_view line :
       {"Host: a", "Accept: */*", "Accept-Encoding: x", "Cookie: 1"}) {
    for (std::size_t before = 0; before < 40; ++before) {
      const std::string section = std::string(before, 'x') + std::string(line) + "\r\n\r\n";
      if (section.size() < LineScanner::kReadableBytes) continue;
      const test::GuardedBytes bytes{section};
      const char* const begin = bytes.view().data();
      const LineScanner scanner{begin, 0, section.size()};
      const UsualName* const usual = scanner.usual_name(before);
#ifdef __SSE4_1__
      ASSERT_NE(usual, nullptr) << line;
      EXPECT_EQ(usual->size, line.find(':'));
#else
      EXPECT_EQ(usual, nullptr);
#endif
    }
  }
}

TEST(LineScanner, FindsAUsualNameWithTwoBytesBehindItsColon) {
  for (const std::string_view name : {"Host:", "Accept:", "Pragma:", "Accept-Encoding:"}) {
    for (std::size_t behind = 0; behind < 20; ++behind) {
      const std::size_t before = 20;
      const std::string section =
          std::string(before, 'x').append(name).append(std::string(behind, ' '));
      const test::GuardedBytes bytes{section};
      const LineScanner scanner{bytes.view().data(), 0, section.size()};
#ifdef __SSE4_1__
      const bool found = scanner.usual_name(before) != nullptr;
      // A section's end has four bytes. With fewer a short name may be missed.
      EXPECT_FALSE(found && behind < 2) << name << behind;
      EXPECT_FALSE(!found && behind >= 4) << name << behind;
#else
      EXPECT_EQ(scanner.usual_name(before), nullptr);
#endif
    }
  }
}

}  // namespace
}  // namespace leantea::h1

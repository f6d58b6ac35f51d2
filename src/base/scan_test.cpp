#include "base/scan.hpp"

#include <array>
#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/scan_impl.hpp"
#include "support/guarded_bytes.hpp"

namespace leantea::base {
namespace {

using test::GuardedBytes;

constexpr std::size_t kLongest = 100;  // every way through the code: words, 16, 32, 64, overlaps

/// All implementations, and the functions that everybody uses.
std::vector<scan::Implementation> all() {
  const auto found = scan::implementations();
  std::vector<scan::Implementation> list(found.begin(), found.end());
  list.push_back({.name = "in use", .find_control = find_control, .skip_token = skip_token});
  return list;
}

std::ptrdiff_t found_at(scan::Search search, std::string_view bytes) {
  return search(bytes.data(), bytes.data() + bytes.size()) - bytes.data();
}

/// The definitions of the RFCs, written down a second time.
bool is_control(unsigned byte) { return (byte < 0x20 && byte != 0x09) || byte == 0x7f; }
bool is_tchar(unsigned byte) {
  return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
         (byte >= 'A' && byte <= 'Z') ||
         (byte != 0 && byte < 0x80 &&
          std::string_view("!#$%&'*+-.^_`|~").contains(static_cast<char>(byte)));
}

TEST(Scan, ThisProcessorsImplementationsAreTested) {
  ASSERT_FALSE(scan::implementations().empty());
  EXPECT_EQ(scan::implementations().front().name, "plain");
  for (const auto& implementation : scan::implementations())
    RecordProperty(std::string(implementation.name), "tested");
}

TEST(Scan, EveryByteIsJudgedAsTheRfcSays) {
  for (const auto& [name, control, token] : all()) {
    for (unsigned byte = 0; byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      EXPECT_EQ(found_at(control, {&c, 1}), is_control(byte) ? 0 : 1) << name << ' ' << byte;
      EXPECT_EQ(found_at(token, {&c, 1}), is_tchar(byte) ? 1 : 0) << name << ' ' << byte;
    }
  }
}

TEST(Scan, NothingIsFoundInNothing) {
  for (const auto& [name, control, token] : all()) {
    EXPECT_EQ(found_at(control, ""), 0) << name;
    EXPECT_EQ(control(nullptr, nullptr), nullptr) << name;
    EXPECT_EQ(token(nullptr, nullptr), nullptr) << name;
  }
}

// Every byte at every place of every length, with an unreadable page behind and before.
TEST(Scan, EveryByteAtEveryPlace) {
  for (const auto guard : {GuardedBytes::Guard::kBehind, GuardedBytes::Guard::kBefore}) {
    GuardedBytes guarded(std::string(kLongest, 'a'), guard);
    for (const auto& [name, control, token] : all()) {
      for (std::size_t size = 0; size <= kLongest; ++size) {
        char* const begin = guard == GuardedBytes::Guard::kBehind
                                ? guarded.data() + (kLongest - size)
                                : guarded.data();
        const std::string_view bytes{begin, size};
        const auto end = static_cast<std::ptrdiff_t>(size);
        for (std::size_t at = 0; at < size; ++at) {
          for (unsigned byte = 0; byte < 256; ++byte) {
            begin[at] = static_cast<char>(byte);
            const auto here = static_cast<std::ptrdiff_t>(at);
            ASSERT_EQ(found_at(control, bytes), is_control(byte) ? here : end)
                << name << " byte " << byte << " at " << at << " of " << size;
            ASSERT_EQ(found_at(token, bytes), is_tchar(byte) ? end : here)
                << name << " byte " << byte << " at " << at << " of " << size;
          }
          begin[at] = 'a';
        }
      }
    }
  }
}

// A hit behind the end, or before the beginning, of what is asked about is none.
TEST(Scan, BytesAroundAreNotLookedAt) {
  for (const auto& [name, control, token] : all()) {
    for (std::size_t size = 0; size <= kLongest; ++size) {
      const std::string bytes =
          std::string(64, '\r') + std::string(size, 'a') + std::string(64, '\r');
      const std::string_view inside = std::string_view(bytes).substr(64, size);
      ASSERT_EQ(found_at(control, inside), static_cast<std::ptrdiff_t>(size)) << name;
      ASSERT_EQ(found_at(token, inside), static_cast<std::ptrdiff_t>(size)) << name;
    }
  }
}

TEST(Scan, TheFirstOfSeveralIsFound) {
  for (const auto& [name, control, token] : all()) {
    for (std::size_t size = 1; size <= kLongest; ++size) {
      for (std::size_t at = 0; at < size; ++at) {
        const std::string bytes = std::string(at, 'a') + std::string(size - at, '\n');
        ASSERT_EQ(found_at(control, bytes), static_cast<std::ptrdiff_t>(at)) << name;
        ASSERT_EQ(found_at(token, bytes), static_cast<std::ptrdiff_t>(at)) << name;
      }
    }
  }
}

TEST(Scan, LongRandomInputsEqualPlainCode) {
  std::mt19937 random(1);
  const auto& plain = scan::implementations().front();
  for (int round = 0; round < 3000; ++round) {
    std::string bytes(random() % 5000, '\0');
    // From a hit in every second byte to none at all.
    const unsigned seldom = 1u << random() % 16;
    for (char& c : bytes)
      c = static_cast<char>(random() % seldom == 0 ? random() : 'a' + random() % 26);
    const GuardedBytes guarded(bytes);
    for (const auto& [name, control, token] : all()) {
      // From every hit to the next, so that each start in the input is as likely.
      for (std::string_view rest = guarded.view(); !rest.empty();) {
        const auto at = found_at(control, rest);
        ASSERT_EQ(at, found_at(plain.find_control, rest)) << name;
        ASSERT_EQ(found_at(token, rest), found_at(plain.skip_token, rest)) << name;
        rest.remove_prefix(std::min(rest.size(), static_cast<std::size_t>(at) + 1));
      }
    }
  }
}

}  // namespace
}  // namespace leantea::base

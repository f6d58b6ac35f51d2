// The house rules, checked over the source tree. A failure names the file and the line, and the
// rule says why.

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "source_tree.hpp"

namespace leantea::tidy {
namespace {

// ---- What the rules allow ----

// The folders of src/, lowest first. A file includes its own folder and those before it.
constexpr std::array<std::string_view, 6> kFolders = {"base", "http", "h1", "app", "net", "server"};

// The protocol side: bytes in, bytes out. The only headers that end in .h it may have are those
// without system calls.
constexpr std::array<std::string_view, 5> kCore = {"src/base/", "src/http/", "src/h1/", "src/app/",
                                                   "include/leantea/"};
const std::set<std::string, std::less<>> kHeadersForCore = {
    "sys/uio.h",  // struct iovec, the shape in which output is shown
    "immintrin.h", "emmintrin.h", "tmmintrin.h", "smmintrin.h", "arm_neon.h"};

// No function has more lines than this, from brace to brace …
constexpr int kFunctionLines = 70;
constexpr int kTestLines = 100;
// … except these, which may only get shorter: "file: function", lines. An entry that is no longer
// needed is removed.
const std::map<std::string, int, std::less<>> kLongFunctions = {
    {"src/http/status.cpp: reason_phrase", 91},  // one line for each status code
};

// Wider than this no line of C++ is. clang-format lays out code at 100; comments may hold a table.
constexpr std::size_t kLineWidth = 120;

// Sources whose behaviour is tested elsewhere than in an x_test.cpp beside them, and where: a file
// or, with '/' at the end, a folder.
struct TestedElsewhere {
  std::string_view source;
  std::string_view tests;
};
constexpr std::array kTestedElsewhere = {
    TestedElsewhere{"src/app/request.cpp", "src/app/exchange_test.cpp"},
    TestedElsewhere{"src/app/socketless.cpp", "src/app/connection_test.cpp"},
    TestedElsewhere{"src/http/field_check.cpp", "src/http/response_test.cpp"},
    TestedElsewhere{"src/net/reactor/poller_kqueue.cpp", "tests/kqueue/"},
    // One suite of behaviour over all backends.
    TestedElsewhere{"src/net/clock.cpp", "tests/backends/"},
    TestedElsewhere{"src/net/refused_sockets.cpp", "tests/backends/"},
    TestedElsewhere{"src/net/thread_name.cpp", "tests/backends/"},
    TestedElsewhere{"src/net/libuv/", "tests/backends/"},
    TestedElsewhere{"src/net/loop/", "tests/backends/"},
    TestedElsewhere{"src/net/reactor/", "tests/backends/"},
    TestedElsewhere{"src/net/threads/", "tests/backends/"},
    TestedElsewhere{"src/net/uring/", "tests/backends/"},
};

// Stand-ins for headers of other systems, which look as those do.
constexpr std::string_view kForeignHeaders = "tests/support/kqueue_declarations/";

// ---- Helpers ----

const std::vector<std::string> kAllCpp = {"include", "src", "lab", "examples", "tests", "fuzz"};

/// Collects what breaks a rule; the test fails at its end and lists all of it.
class Findings {
 public:
  explicit Findings(std::string_view rule) : rule_(rule) {}
  Findings(const Findings&) = delete;
  Findings& operator=(const Findings&) = delete;
  ~Findings() { EXPECT_EQ(count_, 0) << rule_ << "\n" << list_; }

  void add(const SourceFile& file, int line, std::string_view what) {
    add(file.path + ":" + std::to_string(line) + ": " + std::string(what));
  }
  void add(std::string_view what) {
    ++count_;
    list_.append("  ").append(what).append("\n");
  }

 private:
  std::string rule_;
  std::string list_;
  int count_ = 0;
};

std::optional<std::size_t> rank(std::string_view path) {
  for (std::size_t i = 0; i < kFolders.size(); ++i) {
    if (path.starts_with(kFolders[i]) && path.substr(kFolders[i].size()).starts_with('/')) return i;
  }
  return std::nullopt;
}

bool is_core(const SourceFile& file) {
  return !file.is_test() &&
         std::ranges::any_of(kCore, [&](std::string_view folder) { return file.is_below(folder); });
}

bool exists(std::string_view path) {
  return std::filesystem::exists(std::filesystem::path(LEANTEA_SOURCE_DIR) / path);
}

int line_at(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, offset), '\n'));
}

// ---- Structure ----

TEST(Includes, GoOneWay) {
  Findings findings(
      "server → net → app → h1 → http → base: a folder includes itself and those to the right");
  for (const auto& file : cpp_files({"src"})) {
    const auto own = rank(std::string_view(file.path).substr(4));
    ASSERT_TRUE(own) << file.path << ": src/ has the folders base, http, h1, app, net and server";
    for (const auto& include : includes_of(file)) {
      if (!include.quoted || (file.is_test() && include.name.starts_with("support/"))) continue;
      const auto other = rank(include.name);
      if (!other) {
        findings.add(file, include.line, "write \"folder/file.hpp\", not \"" + include.name + "\"");
      } else if (*other > *own) {
        findings.add(file, include.line, "includes \"" + include.name + "\"");
      }
    }
  }
}

TEST(Includes, OfThePublicApiStayPublic) {
  Findings findings("include/leantea/ and examples/ include nothing of src/");
  for (const auto& file : cpp_files({"include", "examples"})) {
    for (const auto& include : includes_of(file)) {
      if (include.quoted || rank(include.name)) {
        findings.add(file, include.line, "includes " + include.name);
      }
    }
  }
}

TEST(Core, MakesNoSystemCalls) {
  Findings findings(
      "only src/net/ and src/server/ talk to the system: the rest runs in a test without it");
  for (const auto& file : cpp_files({"src", "include"})) {
    if (!is_core(file)) continue;
    for (const auto& include : includes_of(file)) {
      if (!include.quoted && include.name.ends_with(".h") &&
          !kHeadersForCore.contains(include.name)) {
        findings.add(file, include.line, "includes <" + include.name + ">");
      }
    }
  }
}

TEST(Core, ReadsNoClock) {
  Findings findings("the backend tells the connection the time, once per turn of its loop");
  const std::regex clock(R"(_clock::now\(|\bclock_gettime\b|\bgettimeofday\b|\bstd::time\()");
  for (const auto& file : cpp_files({"src", "include"})) {
    if (!is_core(file)) continue;
    const std::string code = code_only(file.text);
    for (std::sregex_iterator match(code.begin(), code.end(), clock), end; match != end; ++match) {
      findings.add(file, line_at(code, static_cast<std::size_t>(match->position())), match->str());
    }
  }
}

TEST(Algorithms, CompileWithClang) {
  Findings findings(
      "Clang 19 refuses these: libstdc++ 12 has them use what it calls deprecated itself. Sort "
      "with a second key");
  const std::regex buffered(R"(\b(stable_sort|stable_partition|inplace_merge)\b)");
  for (const auto& file : cpp_files(kAllCpp)) {
    const std::string code = code_only(file.text);
    for (std::sregex_iterator match(code.begin(), code.end(), buffered), end; match != end; ++match)
      findings.add(file, line_at(code, static_cast<std::size_t>(match->position())), match->str());
  }
}

// ---- Files ----

TEST(Headers, OpenWithACommentAndAreIncludedOnce) {
  Findings findings(
      "a header says first what it is, who may call it and how long its views live; then #pragma "
      "once");
  for (const auto& file : cpp_files(kAllCpp)) {
    if (!file.is_header() || file.is_below(kForeignHeaders)) continue;
    const auto lines = lines_of(file.text);
    if (lines.empty() || !lines.front().starts_with("//")) findings.add(file, 1, "no comment");
    if (std::ranges::count(lines, "#pragma once") != 1) findings.add(file, 1, "no #pragma once");
  }
}

/// Whether x_test.cpp lies beside x.cpp. For x_part.cpp, a part of x in a file of its own, that of x
/// will do.
bool has_test_beside(std::string_view path) {
  std::string stem(path.substr(0, path.size() - std::string_view(".cpp").size()));
  while (!exists(stem + "_test.cpp")) {
    const std::size_t cut = stem.find_last_of("_/");
    if (cut == std::string::npos || stem[cut] == '/') return false;
    stem.resize(cut);
  }
  return true;
}

TEST(Sources, HaveTestsBesideThem) {
  Findings findings(
      "x.cpp has an x_test.cpp beside it, or kTestedElsewhere says where its behaviour is tested");
  std::set<std::string_view> used;
  for (const auto& file : cpp_files({"src"})) {
    if (file.is_header() || file.is_test()) continue;
    if (has_test_beside(file.path)) continue;
    const auto* const elsewhere = std::ranges::find_if(kTestedElsewhere, [&](const auto& entry) {
      return entry.source == file.path ||
             (entry.source.ends_with('/') && file.is_below(entry.source));
    });
    if (elsewhere == kTestedElsewhere.end()) {
      findings.add(file.path);
    } else {
      used.insert(elsewhere->source);
    }
  }
  for (const auto& entry : kTestedElsewhere) {
    if (!used.contains(entry.source))
      findings.add(std::string(entry.source) + ": no such source needs the entry");
    if (!exists(entry.tests)) findings.add(std::string(entry.tests) + ": does not exist");
  }
}

TEST(Text, HasNoUnfinishedWork) {
  Findings findings("what is not done is not announced in the code");
  // Written in halves, for this file is checked too.
  const std::regex word(
      "\\b(TO"
      "DO|FIX"
      "ME|X"
      "XX)\\b");
  for (const auto& file : text_files()) {
    for (std::sregex_iterator match(file.text.begin(), file.text.end(), word), end; match != end;
         ++match) {
      findings.add(file, line_at(file.text, static_cast<std::size_t>(match->position())),
                   match->str());
    }
  }
}

TEST(Text, NamesNoMachine) {
  Findings findings("a path of one machine is wrong on the next");
  const std::array<std::string, 4> paths = {std::string("/ho") + "me/", std::string("/ro") + "ot/",
                                            std::string("/Us") + "ers/", LEANTEA_SOURCE_DIR "/"};
  for (const auto& file : text_files()) {
    for (const auto& path : paths) {
      if (const auto at = file.text.find(path); at != std::string::npos) {
        findings.add(file, line_at(file.text, at), path);
      }
    }
  }
}

TEST(Text, IsTidy) {
  Findings findings(
      "no tabs in C++, no space at the end of a line, lines of at most 120 characters, a newline "
      "at the end");
  for (const auto& file : cpp_files(kAllCpp)) {
    if (!file.text.ends_with('\n') || file.text.ends_with("\n\n")) findings.add(file, 1, "its end");
    const std::string code = code_only(file.text);
    if (const auto tab = code.find('\t'); tab != std::string::npos) {
      findings.add(file, line_at(code, tab), "tab");
    }
    int number = 0;
    for (const auto line : lines_of(file.text)) {
      ++number;
      // Bytes that continue a UTF-8 character have no width.
      const auto width = std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; });
      if (line.ends_with(' ')) findings.add(file, number, "space at the end");
      if (static_cast<std::size_t>(width) > kLineWidth) findings.add(file, number, "too wide");
    }
  }
}

// ---- Functions ----

TEST(Functions, OnlyGetShorter) {
  Findings findings(
      "a function has at most " + std::to_string(kFunctionLines) +
      " lines; kLongFunctions lists those that have more, with a number that only goes down");
  std::set<std::string> seen;
  for (const auto& file : cpp_files(kAllCpp)) {
    for (const auto& function : functions_of(file.text)) {
      if (function.lines <= (function.name.starts_with("TEST") ? kTestLines : kFunctionLines)) {
        continue;
      }
      const std::string key = file.path + ": " + function.name;
      const auto entry = kLongFunctions.find(key);
      seen.insert(key);
      if (entry == kLongFunctions.end() || function.lines > entry->second) {
        findings.add(file, function.first_line,
                     function.name + " has " + std::to_string(function.lines) + " lines");
      } else if (function.lines < entry->second) {
        findings.add(file, function.first_line,
                     "good: lower its entry to " + std::to_string(function.lines));
      }
    }
  }
  for (const auto& [key, lines] : kLongFunctions) {
    if (!seen.contains(key)) findings.add("good: remove the entry \"" + key + "\"");
  }
}

TEST(Functions, AreFound) {
  const auto functions = functions_of(R"text(
namespace a {
struct S {
  S() : x_{1}, y_(2) {
    one();
  }
  int get() const { return x_; }
};
int f(int a,
      int b) {
  auto g = [] { return '{'; };
  // } not here
  const char* s = "}";
  if (a) {
    return 1'000;
  }
  return 2;
}
constexpr int kTable[] = {1, 2};
template <class T>
T S::sum() {
}
}  // namespace a
)text");
  ASSERT_EQ(functions.size(), 4U);
  EXPECT_EQ(functions[0].name, "S");
  EXPECT_EQ(functions[0].lines, 3);
  EXPECT_EQ(functions[1].name, "get");
  EXPECT_EQ(functions[1].lines, 1);
  EXPECT_EQ(functions[2].name, "f");
  EXPECT_EQ(functions[2].first_line, 10);
  EXPECT_EQ(functions[2].lines, 9);
  EXPECT_EQ(functions[3].name, "S::sum");
  EXPECT_EQ(functions_of("TEST_F(Suite, Case) {\n}\n").at(0).name, "TEST_F(Suite, Case)");
}

TEST(CodeOnly, BlanksCommentsAndLiterals) {
  EXPECT_EQ(code_only("a // b\nc"), "a     \nc");
  EXPECT_EQ(code_only("a /* \n */ c"), "a    \n    c");
  EXPECT_EQ(code_only(R"(f("x\"y", '"', 1'0) + g)"), R"(f("    ", ' ', 1'0) + g)");
  EXPECT_EQ(code_only("R\"x(\" )x\" + 1"), "R\"      \" + 1");
}

}  // namespace
}  // namespace leantea::tidy

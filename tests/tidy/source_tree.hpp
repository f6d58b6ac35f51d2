// The source tree as text, for tests that check the house rules. Everything is read once per call
// and owned by the caller; paths are relative to the root of the checkout, with '/'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leantea::tidy {

struct SourceFile {
  std::string path;  ///< "src/h1/head_parser.cpp"
  std::string text;  ///< as it is on disk

  bool is_header() const { return path.ends_with(".hpp") || path.ends_with(".h"); }
  /// A unit test or benchmark, or anything of tests/ and fuzz/: may do what the library may not.
  bool is_test() const;
  bool is_below(std::string_view folder) const { return path.starts_with(folder); }
};

/// The C++ files below `folders` ("src", "lab" …; those that do not exist are empty), sorted by
/// path.
std::vector<SourceFile> cpp_files(const std::vector<std::string>& folders);

/// All text files that belong to the project: sources, scripts, build files, documents.
std::vector<SourceFile> text_files();

std::vector<std::string_view> lines_of(std::string_view text);

/// The same text with comments and the inside of literals blanked out; lines and columns stay where
/// they are.
std::string code_only(std::string_view text);

struct Include {
  std::string name;  ///< "base/scan.hpp", "sys/uio.h"
  bool quoted;
  int line;
};
std::vector<Include> includes_of(const SourceFile& file);

struct Function {
  /// As written before the parameters: "Parser::parse"; a test whole: "TEST(Suite, Case)".
  std::string name;
  int first_line;  ///< of the opening brace
  int lines;       ///< from the opening to the closing brace
};
/// The function bodies in a file that clang-format has laid out. Lambdas inside a function count as
/// part of it.
std::vector<Function> functions_of(std::string_view text);

}  // namespace leantea::tidy

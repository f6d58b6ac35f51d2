#include "source_tree.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leantea::tidy {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = LEANTEA_SOURCE_DIR;

SourceFile read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {.path = fs::relative(path, kRoot).generic_string(),
          .text = std::string(std::istreambuf_iterator<char>(in), {})};
}

template <class Wanted>
void read_below(const fs::path& folder, Wanted wanted, std::vector<SourceFile>& files) {
  if (!fs::is_directory(folder)) return;
  for (auto entry = fs::recursive_directory_iterator(folder); entry != fs::end(entry); ++entry) {
    // What npm installed is not ours.
    if (entry->path().filename() == "node_modules") entry.disable_recursion_pending();
    if (entry->is_regular_file() && wanted(entry->path())) files.push_back(read(entry->path()));
  }
}

template <class... Names>
bool is_one_of(std::string_view name, Names... names) {
  return ((name == names) || ...);
}

bool is_cpp(const fs::path& path) {
  return is_one_of(path.extension().string(), ".cpp", ".hpp", ".h");
}

bool is_text(const fs::path& path) {
  return is_cpp(path) || path.filename() == "CMakeLists.txt" ||
         is_one_of(path.extension().string(), ".cmake", ".in", ".md", ".py", ".sh", ".yml", ".conf",
                   ".toml", ".lua", ".json", ".js", ".mjs", ".html", ".css");
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The end of the literal that begins at `begin` (at its quote), one past its closing quote.
std::size_t end_of_literal(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  if (quote == '"' && begin > 0 && text[begin - 1] == 'R') {
    const std::size_t open = text.find('(', begin);
    const std::string close = ")" + std::string(text.substr(begin + 1, open - begin - 1)) + "\"";
    const std::size_t end = text.find(close, open);
    return end == std::string_view::npos ? text.size() : end + close.size();
  }
  std::size_t at = begin + 1;
  while (at < text.size() && text[at] != quote && text[at] != '\n') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

// What the block that begins behind `head` (the code since the last ';', '{' or '}') is.
enum class Block { kContainer, kFunction, kOther };

Block classify(std::string_view head, bool in_container, char before_brace) {
  if (!in_container) return Block::kOther;
  // `member_{value}` in a list of initialisers: clang-format puts no space before such a brace.
  if (before_brace != ' ' && before_brace != '\n') return Block::kOther;
  const bool has_parameters = head.find('(') != std::string_view::npos;
  for (const std::string_view word : {"namespace", "class", "struct", "union", "enum", "extern"}) {
    const std::size_t at = head.find(word);
    if (at == std::string_view::npos || (at > 0 && is_word(head[at - 1]))) continue;
    if (word == "enum") return Block::kOther;
    if (!has_parameters || word == "namespace") return Block::kContainer;
  }
  return has_parameters ? Block::kFunction : Block::kOther;
}

std::string name_before_parameters(std::string_view head) {
  std::size_t end = head.find('(');
  if (end == std::string_view::npos) return {};
  if (head.substr(0, end).ends_with("operator")) end = head.find('(', end + 1);
  while (end > 0 && head[end - 1] == ' ') --end;
  std::size_t begin = end;
  while (begin > 0 && head[begin - 1] != ' ' && head[begin - 1] != '\n') --begin;
  if (head.substr(begin).starts_with("TEST")) end = head.find(')', end) + 1;
  return std::string(head.substr(begin, end - begin));
}

void blank(std::string& text, std::size_t begin, std::size_t end) {
  for (; begin < end; ++begin) {
    if (text[begin] != '\n') text[begin] = ' ';
  }
}

void blank_directives(std::string& code) {
  bool goes_on = false;
  std::size_t begin = 0;
  while (begin < code.size()) {
    const std::size_t end = std::min(code.find('\n', begin), code.size());
    const std::size_t first = code.find_first_not_of(' ', begin);
    const bool directive = goes_on || (first < end && code[first] == '#');
    goes_on = directive && end > begin && code[end - 1] == '\\';
    if (directive) blank(code, begin, end);
    begin = end + 1;
  }
}

}  // namespace

bool SourceFile::is_test() const {
  const std::string_view stem(path.data(), path.find_last_of('.'));
  return stem.ends_with("_test") || stem.ends_with("_bench") || is_below("tests/") ||
         is_below("fuzz/");
}

std::vector<SourceFile> cpp_files(const std::vector<std::string>& folders) {
  std::vector<SourceFile> files;
  for (const auto& folder : folders) read_below(kRoot / folder, is_cpp, files);
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

std::vector<SourceFile> text_files() {
  std::vector<SourceFile> files;
  for (const char* folder :
       {"include", "src", "lab", "examples", "tests", "fuzz", "cmake", "docs"}) {
    read_below(kRoot / folder, is_text, files);
  }
  read_below(kRoot / ".github", is_text, files);
  for (const auto& entry : fs::directory_iterator(kRoot)) {
    const auto name = entry.path().filename().string();
    if (entry.is_regular_file() && (is_text(entry.path()) || name == "dev")) {
      files.push_back(read(entry.path()));
    }
  }
  if (fs::exists(kRoot / ".ci/run")) files.push_back(read(kRoot / ".ci/run"));
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string code_only(std::string_view text) {
  std::string code(text);
  std::size_t at = 0;
  while (at < code.size()) {
    if (text.substr(at, 2) == "//") {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      blank(code, at, end);
      at = end;
    } else if (text.substr(at, 2) == "/*") {
      const std::size_t close = text.find("*/", at + 2);
      const std::size_t end = close == std::string_view::npos ? text.size() : close + 2;
      blank(code, at, end);
      at = end;
    } else if (text[at] == '\'' && at > 0 && is_word(text[at - 1]) && is_word(text[at + 1])) {
      ++at;  // 1'000
    } else if (text[at] == '"' || text[at] == '\'') {
      const std::size_t end = end_of_literal(text, at);
      blank(code, at + 1, end - 1);
      at = end;
    } else {
      ++at;
    }
  }
  return code;
}

std::vector<Include> includes_of(const SourceFile& file) {
  std::vector<Include> includes;
  int number = 0;
  for (std::string_view line : lines_of(file.text)) {
    ++number;
    if (!line.starts_with("#include ")) continue;
    line.remove_prefix(std::string_view("#include ").size());
    const bool quoted = line.starts_with('"');
    const std::size_t end = line.find(quoted ? '"' : '>', 1);
    if (end == std::string_view::npos) continue;
    includes.push_back({std::string(line.substr(1, end - 1)), quoted, number});
  }
  return includes;
}

std::vector<Function> functions_of(std::string_view text) {
  struct Open {
    Block block;
    std::size_t function;  // its place in `functions` when it is one
  };
  std::string code = code_only(text);
  blank_directives(code);
  std::vector<Function> functions;
  std::vector<Open> open;
  std::size_t head = 0;
  int line = 1;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const char c = code[at];
    if (c == '\n') ++line;
    if (c == '{') {
      const bool in_container = open.empty() || open.back().block == Block::kContainer;
      const auto before = std::string_view(code).substr(head, at - head);
      const Block block = classify(before, in_container, at > 0 ? code[at - 1] : '\n');
      if (block == Block::kFunction) functions.push_back({name_before_parameters(before), line, 0});
      open.push_back({block, functions.size() - 1});
      // A brace among initialisers belongs to the head of its function.
      if (block != Block::kOther) head = at + 1;
    } else if (c == '}' && !open.empty()) {
      const Open last = open.back();
      open.pop_back();
      if (last.block == Block::kFunction) {
        functions[last.function].lines = line - functions[last.function].first_line + 1;
      }
      if (last.block != Block::kOther) head = at + 1;
    } else if (c == ';' && (open.empty() || open.back().block == Block::kContainer)) {
      head = at + 1;
    }
  }
  return functions;
}

}  // namespace leantea::tidy

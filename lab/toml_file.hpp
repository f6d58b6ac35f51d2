// A TOML file, read strictly: a wrong type, a missing key or one that nobody asked for is an error that names the file
// and the line. The only place that knows the TOML library. Main thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leantea::lab {

/// A table of the file. Copies are cheap and keep the file's contents alive.
///
/// The functions without a default throw Failure (exit code 2) when the key is missing; all do when the value has
/// another type.
class TomlTable {
 public:
  /// Reads `text`; `name` stands in errors. Throws Failure (exit code 2) with the line of a syntax error.
  static TomlTable parse(std::string_view text, std::string_view name);

  /// Every key has to be one of these: finds the misspelt ones.
  void allow_only(std::initializer_list<std::string_view> keys) const;

  bool has(std::string_view key) const;
  std::vector<std::string> keys() const;

  std::string text(std::string_view key) const;
  std::string text_or(std::string_view key, std::string_view otherwise) const;
  std::int64_t integer(std::string_view key) const;
  std::int64_t integer_or(std::string_view key, std::int64_t otherwise) const;
  double number_or(std::string_view key, double otherwise) const;
  bool truth_or(std::string_view key, bool otherwise) const;

  /// Lists; empty when the key is missing.
  std::vector<std::string> texts(std::string_view key) const;
  std::vector<std::int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;
  std::vector<TomlTable> tables(std::string_view key) const;  ///< `[[key]]`

  std::optional<TomlTable> table(std::string_view key) const;  ///< `[key]`

  /// Throws Failure (exit code 2): what is wrong with `key`, with the file and the line.
  [[noreturn]] void reject(std::string_view key, std::string_view why) const;

 private:
  struct File;
  using Node = std::shared_ptr<const void>;  // a toml::table that shares the file's life

  TomlTable(std::shared_ptr<const File> file, Node table)
      : file_(std::move(file)), table_(std::move(table)) {}

  std::shared_ptr<const File> file_;
  Node table_;
};

}  // namespace leantea::lab

// A table of text, for a terminal or as Markdown. The first column is aligned left, numbers right.
#pragma once

#include <string>
#include <vector>

namespace leantea::lab {

class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}

  /// REQUIRES: as many cells as the header has.
  void add(std::vector<std::string> row);

  std::string text() const;
  std::string markdown() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace leantea::lab

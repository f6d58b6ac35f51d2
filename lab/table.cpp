#include "table.hpp"

#include <algorithm>
#include <stdexcept>

namespace leantea::lab {
namespace {

/// Columns that `text` takes: UTF-8's continuation bytes take none. (No wide or combining characters here.)
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// A column is one of numbers when each of its cells is empty, a dash, or begins with a digit.
bool numeric(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  return std::ranges::all_of(rows, [column](const std::vector<std::string>& row) {
    const std::string& cell = row[column];
    return cell.empty() || cell == "–" || cell == "void" || (cell[0] >= '0' && cell[0] <= '9');
  });
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  if (row.size() != header_.size())
    throw std::logic_error("a row with another number of cells than the header");
  rows_.push_back(std::move(row));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  std::vector<bool> right;
  for (std::size_t column = 0; column < header_.size(); ++column) {
    std::size_t widest = width(header_[column]);
    for (const auto& row : rows_) widest = std::max(widest, width(row[column]));
    widths.push_back(widest);
    right.push_back(column > 0 && numeric(rows_, column));
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const std::string padding(widths[column] - width(cells[column]), ' ');
      text += "  ";
      text += right[column] ? padding + cells[column] : cells[column] + padding;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    out += text + '\n';
  };
  line(header_);
  for (const auto& row : rows_) line(row);
  return out;
}

std::string Table::markdown() const {
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    out += '|';
    for (const std::string& cell : cells) out += ' ' + cell + " |";
    out += '\n';
  };
  line(header_);
  out += '|';
  for (std::size_t column = 0; column < header_.size(); ++column) {
    out += column > 0 && numeric(rows_, column) ? "---:|" : "---|";
  }
  out += '\n';
  for (const auto& row : rows_) line(row);
  return out;
}

}  // namespace leantea::lab

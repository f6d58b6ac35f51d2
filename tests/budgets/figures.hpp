// Figures: what the lab wrote as JSON, as a flat list of numbers and texts, each with its path, as in
// "servers/0/calls_per_request/recvfrom".
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace leantea::test {

class Figures {
 public:
  /// Text that is no JSON makes no figures.
  static Figures from_json(const std::string& text);

  bool empty() const noexcept { return numbers_.empty(); }
  bool has(std::string_view path) const { return numbers_.contains(path); }
  /// A figure that is not there is a failure of the test.
  double number(std::string_view path) const;
  std::string text(std::string_view path) const;
  /// The members of the object at `path` that are numbers, by their names.
  std::map<std::string, double> members(std::string_view path) const;

 private:
  friend class FiguresReader;

  std::map<std::string, double, std::less<>> numbers_;
  std::map<std::string, std::string, std::less<>> texts_;
};

}  // namespace leantea::test

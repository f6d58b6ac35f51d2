#include "budgets/figures.hpp"

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>
// Not RapidJSON's Document: that of version 1.1 is no C++ for Clang 19.
#include <rapidjson/reader.h>

namespace leantea::test {

/// Takes RapidJSON's events, and knows where in the document they are.
class FiguresReader : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, FiguresReader> {
 public:
  explicit FiguresReader(Figures& figures) : figures_(figures) {}

  bool Default() { return done(); }
  bool Int(int value) { return Double(value); }
  bool Uint(unsigned value) { return Double(value); }
  bool Int64(std::int64_t value) { return Double(static_cast<double>(value)); }
  bool Uint64(std::uint64_t value) { return Double(static_cast<double>(value)); }
  bool Double(double value) {
    figures_.numbers_[path()] = value;
    return done();
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    figures_.texts_[path()].assign(text, size);
    return done();
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    places_.back().name.assign(text, size);
    return true;
  }
  bool StartObject() { return begin({.is_array = false}); }
  bool StartArray() { return begin({.is_array = true}); }
  bool EndObject(rapidjson::SizeType) { return end(); }
  bool EndArray(rapidjson::SizeType) { return end(); }

 private:
  struct Place {
    bool is_array;
    std::size_t index = 0;
    std::string name{};
  };

  bool begin(Place place) {
    places_.push_back(std::move(place));
    return true;
  }
  bool end() {
    places_.pop_back();
    return done();
  }
  bool done() {
    if (!places_.empty()) ++places_.back().index;
    return true;
  }
  std::string path() const {
    std::string path;
    for (const Place& place : places_) {
      if (!path.empty()) path += '/';
      path += place.is_array ? std::to_string(place.index) : place.name;
    }
    return path;
  }

  Figures& figures_;
  std::vector<Place> places_;
};

Figures Figures::from_json(const std::string& text) {
  Figures figures;
  FiguresReader taker(figures);
  rapidjson::StringStream stream(text.c_str());
  if (rapidjson::Reader().Parse(stream, taker).IsError()) return {};
  return figures;
}

double Figures::number(std::string_view path) const {
  const auto found = numbers_.find(path);
  if (found != numbers_.end()) return found->second;
  ADD_FAILURE() << "the lab told no " << path;
  return 0;
}

std::string Figures::text(std::string_view path) const {
  const auto found = texts_.find(path);
  return found != texts_.end() ? found->second : "";
}

std::map<std::string, double> Figures::members(std::string_view path) const {
  const std::string prefix = std::string(path) + '/';
  std::map<std::string, double> members;
  for (auto at = numbers_.lower_bound(prefix);
       at != numbers_.end() && at->first.starts_with(prefix); ++at)
    members[at->first.substr(prefix.size())] = at->second;
  return members;
}

namespace {

TEST(Figures, HaveThePathsOfTheDocument) {
  const Figures figures = Figures::from_json(
      R"({"a": 1, "servers": [{"name": "x", "calls": {"recv": 1.5, "send": 2}}, {"name": "y"}]})");
  EXPECT_EQ(figures.number("a"), 1);
  EXPECT_EQ(figures.text("servers/1/name"), "y");
  EXPECT_EQ(figures.members("servers/0/calls"),
            (std::map<std::string, double>{{"recv", 1.5}, {"send", 2}}));
  EXPECT_FALSE(figures.has("servers/1/calls"));
  EXPECT_TRUE(Figures::from_json("no JSON").empty());
}

}  // namespace

}  // namespace leantea::test

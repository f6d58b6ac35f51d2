// JSON, written and read. One thread per object.
//
// Json is a text that is written from front to back, names and values in the order of the calls:
//
//   Json json;
//   json.object([&] {
//     json.field("rounds", 5);
//     json.array("values", [&] { json.value(1.5); });
//   });
//   write(json.text());
//
// JsonValue is what was read. Members that are not there are null, so a chain of names needs no check on the way:
//
//   const JsonValue run = parse_json(text, "runs.jsonl");
//   const std::optional<double> cores = run["machine"]["cores"].number();
//
// Views and references that a JsonValue gives live as long as it does.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace leantea::lab {

class JsonValue {
 public:
  using Member = std::pair<std::string, JsonValue>;

  bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_array() const { return std::holds_alternative<Elements>(data_); }
  bool is_object() const { return std::holds_alternative<Members>(data_); }

  /// The value, where it is of that kind.
  std::optional<bool> boolean() const;
  std::optional<double> number() const;
  std::optional<std::string> text() const;

  /// What is in an array or in an object; empty for anything else.
  std::span<const JsonValue> elements() const;
  std::span<const Member> members() const;

  /// The member of that name (the first, should there be several), or null.
  const JsonValue& operator[](std::string_view name) const;

 private:
  friend class JsonReader;
  friend class JsonPrinter;
  struct Number {
    std::string digits;  ///< as read, so that it is written again without a change
  };
  using Elements = std::vector<JsonValue>;
  using Members = std::vector<Member>;

  std::variant<std::monostate, bool, Number, std::string, Elements, Members> data_;
};

/// Reads one JSON text. Throws Failure that names `file`, line and column where it is not JSON. `first_line` is the
/// number of the text's first line in the file.
JsonValue parse_json(std::string_view text, const std::string& file, int first_line = 1);

/// `value` in one line, without spaces.
std::string in_one_line(const JsonValue& value);

class Json {
 public:
  Json();
  Json(const Json&) = delete;
  Json& operator=(const Json&) = delete;
  ~Json();

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(double number);
  void value(bool truth);
  void value(const JsonValue& copied);
  void null();
  template <std::integral Number>
  void value(Number number) {
    integer(static_cast<std::int64_t>(number));
  }

  template <typename Value>
  void field(std::string_view name, const Value& of_field) {
    key(name);
    value(of_field);
  }

  template <typename Members>
  void object(Members members) {
    begin_object();
    members();
    end_object();
  }
  template <typename Members>
  void object(std::string_view name, Members members) {
    key(name);
    object(members);
  }
  template <typename Elements>
  void array(Elements elements) {
    begin_array();
    elements();
    end_array();
  }
  template <typename Elements>
  void array(std::string_view name, Elements elements) {
    key(name);
    array(elements);
  }

  void key(std::string_view name);
  std::string text() const;

 private:
  void integer(std::int64_t number);
  void begin_object();
  void end_object();
  void begin_array();
  void end_array();

  struct Writer;
  std::unique_ptr<Writer> writer_;
};

/// Throws Failure, naming `flag`, when `file` (not empty, not `-`) cannot be a file because its folder is missing or it
/// is a folder itself: said before minutes of measuring, not after them.
void require_place_for(std::string_view flag, const std::string& file);

/// Writes `text` and a line end to `path` (`-`: to the standard output). Throws Failure when that does not work.
void write_text(const std::string& path, std::string_view text);

}  // namespace leantea::lab

// A JSON text, written from front to back. Names and values in the order of the calls; one thread per object.
//
//   Json json;
//   json.object([&] {
//     json.field("rounds", 5);
//     json.array("values", [&] { json.value(1.5); });
//   });
//   write(json.text());
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace leantea::lab {

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
  void array(std::string_view name, Elements elements) {
    key(name);
    begin_array();
    elements();
    end_array();
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

/// Writes `text` and a line end to `path` (`-`: to the standard output). Throws Failure when that does not work.
void write_text(const std::string& path, std::string_view text);

}  // namespace leantea::lab

#include "json.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "failure.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

constexpr int kDecimalPlaces = 6;
// Far more than any file of the lab has; a value's destructor calls itself that often.
constexpr std::size_t kDeepest = 100;

rapidjson::SizeType size_of(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

}  // namespace

// ---- Reading --------------------------------------------------------------------------------------------------------

/// Builds a value from what RapidJSON's reader finds. Its functions have the names that RapidJSON calls.
// NOLINTBEGIN(readability-identifier-naming)
class JsonReader {
 public:
  bool Null() { return add({}); }
  bool Bool(bool truth) { return add(of(truth)); }
  bool RawNumber(const char* digits, rapidjson::SizeType size, bool /*copy*/) {
    return add(of(JsonValue::Number{std::string(digits, size)}));
  }
  bool String(const char* text, rapidjson::SizeType size, bool /*copy*/) {
    return add(of(std::string(text, size)));
  }
  bool Key(const char* name, rapidjson::SizeType size, bool /*copy*/) {
    names_.emplace_back(name, size);
    return true;
  }
  bool StartObject() { return open(of(JsonValue::Members{})); }
  bool EndObject(rapidjson::SizeType /*count*/) { return close(); }
  bool StartArray() { return open(of(JsonValue::Elements{})); }
  bool EndArray(rapidjson::SizeType /*count*/) { return close(); }
  // Not called: numbers are read as they are written.
  bool Int(int /*number*/) { return false; }
  bool Uint(unsigned /*number*/) { return false; }
  bool Int64(std::int64_t /*number*/) { return false; }
  bool Uint64(std::uint64_t /*number*/) { return false; }
  bool Double(double /*number*/) { return false; }

  JsonValue result() && { return std::move(result_); }

 private:
  template <typename Data>
  static JsonValue of(Data data) {
    JsonValue value;
    value.data_ = std::move(data);
    return value;
  }

  bool open(JsonValue container) {
    if (open_.size() == kDeepest) return false;
    open_.push_back(std::move(container));
    return true;
  }

  bool close() {
    JsonValue done = std::move(open_.back());
    open_.pop_back();
    return add(std::move(done));
  }

  bool add(JsonValue value) {
    if (open_.empty()) {
      result_ = std::move(value);
    } else if (auto* elements = std::get_if<JsonValue::Elements>(&open_.back().data_)) {
      elements->push_back(std::move(value));
    } else {
      std::get<JsonValue::Members>(open_.back().data_)
          .emplace_back(std::move(names_.back()), std::move(value));
      names_.pop_back();
    }
    return true;
  }

  JsonValue result_;
  std::vector<JsonValue> open_;     // arrays and objects that are not complete, the innermost last
  std::vector<std::string> names_;  // of members whose values are not complete
};
// NOLINTEND(readability-identifier-naming)

JsonValue parse_json(std::string_view text, const std::string& file, int first_line) {
  constexpr unsigned kFlags = rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseIterativeFlag |
                              rapidjson::kParseValidateEncodingFlag;
  JsonReader handler;
  rapidjson::MemoryStream bytes(text.data(), text.size());
  rapidjson::EncodedInputStream<rapidjson::UTF8<>, rapidjson::MemoryStream> stream(bytes);
  rapidjson::Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, handler);
  if (!result.IsError()) return std::move(handler).result();
  const std::string_view before = text.substr(0, std::min(result.Offset(), text.size()));
  const auto line = first_line + std::ranges::count(before, '\n');
  const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;
  const char* why = result.Code() == rapidjson::kParseErrorTermination
                        ? "it is nested too deeply"
                        : rapidjson::GetParseError_En(result.Code());
  throw Failure(fmt::format(
      "{}:{}:{}: this is no valid JSON: {} Correct it there, or take the file's last good version "
      "from git or a backup",
      file, line, column, why));
}

std::optional<bool> JsonValue::boolean() const {
  const bool* truth = std::get_if<bool>(&data_);
  return truth != nullptr ? std::optional(*truth) : std::nullopt;
}

std::optional<double> JsonValue::number() const {
  const Number* number = std::get_if<Number>(&data_);
  return number != nullptr ? std::optional(number_or(number->digits, 0.0)) : std::nullopt;
}

std::optional<std::string> JsonValue::text() const {
  const std::string* text = std::get_if<std::string>(&data_);
  return text != nullptr ? std::optional(*text) : std::nullopt;
}

std::span<const JsonValue> JsonValue::elements() const {
  const Elements* elements = std::get_if<Elements>(&data_);
  return elements != nullptr ? std::span(*elements) : std::span<const JsonValue>{};
}

std::span<const JsonValue::Member> JsonValue::members() const {
  const Members* members = std::get_if<Members>(&data_);
  return members != nullptr ? std::span(*members) : std::span<const Member>{};
}

const JsonValue& JsonValue::operator[](std::string_view name) const {
  static const JsonValue kNothing;
  const auto of_name = [&](const Member& member) { return member.first == name; };
  const std::span<const Member> all = members();
  const auto found = std::ranges::find_if(all, of_name);
  return found != all.end() ? found->second : kNothing;
}

// ---- Writing --------------------------------------------------------------------------------------------------------

/// Writes a value that was read, to any of RapidJSON's writers.
class JsonPrinter {
 public:
  template <typename Writer>
  static void print(Writer& writer, const JsonValue& value) {
    std::visit([&](const auto& data) { print_data(writer, data); }, value.data_);
  }

 private:
  template <typename Writer>
  static void print_data(Writer& writer, std::monostate /*null*/) {
    writer.Null();
  }
  template <typename Writer>
  static void print_data(Writer& writer, bool truth) {
    writer.Bool(truth);
  }
  template <typename Writer>
  static void print_data(Writer& writer, const JsonValue::Number& number) {
    writer.RawValue(number.digits.data(), number.digits.size(), rapidjson::kNumberType);
  }
  template <typename Writer>
  static void print_data(Writer& writer, const std::string& text) {
    writer.String(text.data(), size_of(text));
  }
  template <typename Writer>
  static void print_data(Writer& writer, const JsonValue::Elements& elements) {
    writer.StartArray();
    for (const JsonValue& element : elements) print(writer, element);
    writer.EndArray();
  }
  template <typename Writer>
  static void print_data(Writer& writer, const JsonValue::Members& members) {
    writer.StartObject();
    for (const auto& [name, value] : members) {
      writer.Key(name.data(), size_of(name));
      print(writer, value);
    }
    writer.EndObject();
  }
};

std::string in_one_line(const JsonValue& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  JsonPrinter::print(writer, value);
  return {buffer.GetString(), buffer.GetSize()};
}

struct Json::Writer {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer{buffer};
};

Json::Json() : writer_(std::make_unique<Writer>()) {
  writer_->writer.SetIndent(' ', 2);
  writer_->writer.SetMaxDecimalPlaces(kDecimalPlaces);
}
Json::~Json() = default;

void Json::value(std::string_view text) { writer_->writer.String(text.data(), size_of(text)); }
void Json::value(double number) { writer_->writer.Double(number); }
void Json::value(bool truth) { writer_->writer.Bool(truth); }
void Json::value(const JsonValue& copied) { JsonPrinter::print(writer_->writer, copied); }
void Json::null() { writer_->writer.Null(); }
void Json::integer(std::int64_t number) { writer_->writer.Int64(number); }
void Json::key(std::string_view name) { writer_->writer.Key(name.data(), size_of(name)); }
void Json::begin_object() { writer_->writer.StartObject(); }
void Json::end_object() { writer_->writer.EndObject(); }
void Json::begin_array() { writer_->writer.StartArray(); }
void Json::end_array() { writer_->writer.EndArray(); }

std::string Json::text() const { return {writer_->buffer.GetString(), writer_->buffer.GetSize()}; }

void require_place_for(std::string_view flag, const std::string& file) {
  if (file.empty() || file == "-") return;
  const auto path = std::filesystem::absolute(file);
  std::error_code error;
  if (!std::filesystem::is_directory(path.parent_path(), error)) {
    throw Failure(fmt::format("{}: there is no folder {}", flag, path.parent_path().string()),
                  kExitUsage);
  }
  if (std::filesystem::is_directory(path, error))
    throw Failure(fmt::format("{}: {} is a folder: name a file in it", flag, file), kExitUsage);
}

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") {
    fmt::print("{}\n", text);
    return;
  }
  errno = 0;
  std::ofstream file(path);
  file << text << '\n';
  if (!file.flush()) throw Failure(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace leantea::lab

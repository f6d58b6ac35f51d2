#include "json.hpp"

#include <fstream>

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include "failure.hpp"

namespace leantea::lab {
namespace {

constexpr int kDecimalPlaces = 6;

rapidjson::SizeType size_of(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

}  // namespace

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
void Json::null() { writer_->writer.Null(); }
void Json::integer(std::int64_t number) { writer_->writer.Int64(number); }
void Json::key(std::string_view name) { writer_->writer.Key(name.data(), size_of(name)); }
void Json::begin_object() { writer_->writer.StartObject(); }
void Json::end_object() { writer_->writer.EndObject(); }
void Json::begin_array() { writer_->writer.StartArray(); }
void Json::end_array() { writer_->writer.EndArray(); }

std::string Json::text() const { return {writer_->buffer.GetString(), writer_->buffer.GetSize()}; }

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") {
    fmt::print("{}\n", text);
    return;
  }
  std::ofstream file(path);
  file << text << '\n';
  if (!file.flush()) throw Failure(fmt::format("cannot write {}", path));
}

}  // namespace leantea::lab

#include "toml_file.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include "failure.hpp"

namespace leantea::lab {

struct TomlTable::File {
  std::string name;
  toml::table root;
};

namespace {

const toml::table& table_of(const std::shared_ptr<const void>& node) {
  return *static_cast<const toml::table*>(node.get());
}

[[noreturn]] void fail(std::string_view name, const toml::source_region& where,
                       std::string_view why) {
  throw Failure(fmt::format("{}, line {}: {}", name, where.begin.line, why), kExitUsage);
}

/// The value of `key` as a T, or nothing when it is missing; `reject` is told of another type.
template <class T>
std::optional<T> value_of(const toml::table& table, std::string_view key, std::string_view type,
                          const auto& reject) {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node->value_exact<T>();
  if (!value) reject(key, fmt::format("{} must be {}", key, type));
  return *value;
}

/// The elements of the list at `key`, each turned into a T by `element`, which gives nothing for another type.
template <class T>
std::vector<T> list_of(const toml::table& table, std::string_view key, std::string_view type,
                       const auto& element, const auto& reject) {
  std::vector<T> values;
  const toml::node* node = table.get(key);
  if (node == nullptr) return values;
  const toml::array* list = node->as_array();
  if (list == nullptr) reject(key, fmt::format("{} must be a list of {}", key, type));
  for (const toml::node& each : *list) {
    std::optional<T> value = element(each);
    if (!value) reject(key, fmt::format("{} must be a list of {}", key, type));
    values.push_back(std::move(*value));
  }
  return values;
}

std::optional<double> number_in(const toml::node& node) {
  return node.is_number() ? node.value<double>() : std::nullopt;
}

}  // namespace

TomlTable TomlTable::parse(std::string_view text, std::string_view name) {
  try {
    auto file = std::make_shared<const File>(std::string(name), toml::parse(text, name));
    return {file, Node(file, &file->root)};
  } catch (const toml::parse_error& error) {
    fail(name, error.source(), error.description());
  }
}

void TomlTable::reject(std::string_view key, std::string_view why) const {
  const toml::node* node = table_of(table_).get(key);
  fail(file_->name, node != nullptr ? node->source() : table_of(table_).source(), why);
}

void TomlTable::allow_only(std::initializer_list<std::string_view> keys) const {
  for (const std::string& key : this->keys()) {
    if (std::ranges::find(keys, key) == keys.end())
      reject(key, fmt::format("{} is not known here. There are: {}", key, fmt::join(keys, ", ")));
  }
}

bool TomlTable::has(std::string_view key) const { return table_of(table_).contains(key); }

std::vector<std::string> TomlTable::keys() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : table_of(table_)) names.emplace_back(key.str());
  return names;
}

std::string TomlTable::text(std::string_view key) const {
  if (!has(key)) reject(key, fmt::format("{} is missing", key));
  return text_or(key, "");
}

std::string TomlTable::text_or(std::string_view key, std::string_view otherwise) const {
  const auto found = value_of<std::string>(table_of(table_), key, "a text",
                                           [this](auto k, auto why) { reject(k, why); });
  return found.value_or(std::string(otherwise));
}

std::int64_t TomlTable::integer(std::string_view key) const {
  if (!has(key)) reject(key, fmt::format("{} is missing", key));
  return integer_or(key, 0);
}

std::int64_t TomlTable::integer_or(std::string_view key, std::int64_t otherwise) const {
  return value_of<std::int64_t>(table_of(table_), key, "an integer",
                                [this](auto k, auto why) { reject(k, why); })
      .value_or(otherwise);
}

double TomlTable::number_or(std::string_view key, double otherwise) const {
  const toml::node* node = table_of(table_).get(key);
  if (node == nullptr) return otherwise;
  const auto value = number_in(*node);
  if (!value) reject(key, fmt::format("{} must be a number", key));
  return *value;
}

bool TomlTable::truth_or(std::string_view key, bool otherwise) const {
  return value_of<bool>(table_of(table_), key, "true or false",
                        [this](auto k, auto why) { reject(k, why); })
      .value_or(otherwise);
}

std::vector<std::string> TomlTable::texts(std::string_view key) const {
  return list_of<std::string>(
      table_of(table_), key, "texts",
      [](const auto& n) { return n.template value_exact<std::string>(); },
      [this](auto k, auto why) { reject(k, why); });
}

std::vector<std::int64_t> TomlTable::integers(std::string_view key) const {
  return list_of<std::int64_t>(
      table_of(table_), key, "integers",
      [](const auto& n) { return n.template value_exact<std::int64_t>(); },
      [this](auto k, auto why) { reject(k, why); });
}

std::vector<double> TomlTable::numbers(std::string_view key) const {
  return list_of<double>(table_of(table_), key, "numbers", number_in,
                         [this](auto k, auto why) { reject(k, why); });
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) const {
  return list_of<TomlTable>(
      table_of(table_), key, "tables",
      [this](const toml::node& node) -> std::optional<TomlTable> {
        const toml::table* table = node.as_table();
        if (table == nullptr) return std::nullopt;
        return TomlTable(file_, Node(file_, table));
      },
      [this](auto k, auto why) { reject(k, why); });
}

std::optional<TomlTable> TomlTable::table(std::string_view key) const {
  const toml::node* node = table_of(table_).get(key);
  if (node == nullptr) return std::nullopt;
  const toml::table* table = node->as_table();
  if (table == nullptr) reject(key, fmt::format("{} must be a table", key));
  return TomlTable(file_, Node(file_, table));
}

}  // namespace leantea::lab

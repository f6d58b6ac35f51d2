#include "peer.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "failure.hpp"
#include "files.hpp"
#include "process.hpp"
#include "servers.hpp"
#include "toml_file.hpp"

namespace leantea::lab {
namespace {

constexpr double kMostWarmUp = 60;

/// What [cannot] may name.
constexpr std::string_view kMeasured[] = {
    "/health",          "/json",          "/echo",           "/sum",
    kPipelinedRequests, kHttp10KeepAlive, kClosingOnRequest, kSeveralWorkers};
/// What Server puts into words and files (servers.cpp); {program} is put in here.
constexpr std::string_view kKnown[] = {"port",      "workers", "connections", "descriptors", "cpus",
                                       "directory", "user",    "health",      "json"};

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";

/// Folders that a peer's program may be in: {bin} is that of the lab's own programs, {npm} that of npm's packages.
Placeholders folders() {
  const std::string bin = program_directory();
  return {{"bin", bin + "/peers"}, {"npm", bin + "/../../peers/node_modules"}};
}

/// Placeholders that stand for themselves: filling with them checks a text and changes nothing.
Placeholders themselves() {
  Placeholders values;
  for (const std::string_view name : kKnown) values.emplace(name, fmt::format("{{{}}}", name));
  return values;
}

/// The list at `key` with its folders in place and its placeholders checked.
std::vector<std::string> words_at(const TomlTable& table, std::string_view key) {
  Placeholders values = themselves();
  values.emplace("program", "{program}");
  values.merge(folders());
  std::vector<std::string> words = table.texts(key);
  for (std::string& word : words) {
    try {
      word = filled(word, values);
    } catch (const Failure& failure) {
      table.reject(key, failure.what());
    }
  }
  return words;
}

void check_text(const TomlTable& table, std::string_view key, std::string_view text) {
  try {
    filled(text, themselves());
  } catch (const Failure& failure) {
    table.reject(key, failure.what());
  }
}

std::map<std::string, std::string> files_of(const TomlTable& table) {
  std::map<std::string, std::string> files;
  for (const std::string& name : table.texts("files")) {
    const auto text = find_file("peers/" + name);
    if (!text) table.reject("files", fmt::format("there is no lab/peers/{}", name));
    check_text(table, "files", *text);
    files.emplace(name, *text);
  }
  if (const auto texts = table.table("texts")) {
    for (const std::string& path : texts->keys()) {
      check_text(*texts, path, texts->text(path));
      files.emplace(path, texts->text(path));
    }
  }
  return files;
}

Cannot cannot_of(const TomlTable& table) {
  Cannot cannot;
  const auto reasons = table.table("cannot");
  if (!reasons) return cannot;
  for (const std::string& what : reasons->keys()) {
    if (std::ranges::find(kMeasured, what) == std::end(kMeasured)) {
      reasons->reject(what, fmt::format("{} is nothing that is measured. There are: {}", what,
                                        fmt::join(kMeasured, ", ")));
    }
    cannot.emplace(what, reasons->text(what));
  }
  return cannot;
}

/// `words` with {program} in place.
std::vector<std::string> with_program(const std::vector<std::string>& words,
                                      const std::string& program) {
  Placeholders values = themselves();
  values.emplace("program", program);
  std::vector<std::string> result;
  for (const std::string& word : words) result.push_back(filled(word, values));
  return result;
}

}  // namespace

std::string filled(std::string_view text, const Placeholders& values) {
  std::string result;
  for (;;) {
    const std::size_t open = text.find('{');
    result += text.substr(0, open);
    if (open == std::string_view::npos) return result;
    const bool is_script = open > 0 && text[open - 1] == '$';
    text.remove_prefix(open + 1);
    const std::size_t end = std::min(text.find_first_not_of(kLetters), text.size());
    if (is_script || end == 0 || end == text.size() || text[end] != '}') {
      result += '{';
      continue;
    }
    const auto value = values.find(text.substr(0, end));
    if (value == values.end()) {
      std::vector<std::string> names;
      for (const auto& [name, ignored] : values) names.push_back("{" + name + "}");
      throw Failure(fmt::format("{{{}}} stands for nothing here. There are: {}",
                                text.substr(0, end), fmt::join(names, ", ")),
                    kExitUsage);
    }
    result += value->second;
    text.remove_prefix(end + 1);
  }
}

Peer read_peer(std::string_view text, std::string_view name) {
  const TomlTable table = TomlTable::parse(text, fmt::format("lab/peers/{}.toml", name));
  table.allow_only({"title", "debian", "npm", "target", "program", "version", "command", "files",
                    "texts", "most_connections", "warm_up", "cannot"});
  Peer peer{.name = std::string(name),
            .title = table.text("title"),
            .debian = table.texts("debian"),
            .npm = table.texts("npm"),
            .target = table.text_or("target", ""),
            .programs = words_at(table, "program"),
            .version = words_at(table, "version"),
            .recipe = {.words = words_at(table, "command"), .files = files_of(table)},
            .most_connections = 0,
            .warm_up = {},
            .cannot = cannot_of(table)};
  for (const std::string_view key : {"program", "version", "command"}) {
    if (table.texts(key).empty()) table.reject(key, fmt::format("{} is missing", key));
  }
  const std::int64_t most = table.integer_or("most_connections", 0);
  if (most < 0) table.reject("most_connections", "most_connections must not be negative");
  peer.most_connections = static_cast<std::uint64_t>(most);
  const double warm_up = table.number_or("warm_up", 0);
  if (warm_up < 0 || warm_up > kMostWarmUp)
    table.reject("warm_up", fmt::format("warm_up must be from 0 to {} seconds", kMostWarmUp));
  peer.warm_up = std::chrono::milliseconds(std::llround(warm_up * 1000));
  return peer;
}

const std::vector<Peer>& all_peers() {
  static const std::vector<Peer> kPeers = [] {
    constexpr std::string_view kFolder = "peers/";
    constexpr std::string_view kEnding = ".toml";
    std::vector<Peer> peers;
    for (std::string_view name : file_names(kFolder)) {
      if (!name.ends_with(kEnding)) continue;
      const std::string_view text = file(name);
      name.remove_prefix(kFolder.size());
      name.remove_suffix(kEnding.size());
      peers.push_back(read_peer(text, name));
    }
    return peers;
  }();
  return kPeers;
}

const Peer* find_peer(std::string_view name) {
  const auto found = std::ranges::find(all_peers(), name, &Peer::name);
  return found == all_peers().end() ? nullptr : &*found;
}

std::vector<Peer> peers_named(const std::vector<std::string>& names) {
  if (names.empty() || std::ranges::find(names, "all") != names.end()) return all_peers();
  std::vector<Peer> peers;
  for (const std::string& name : names) {
    const Peer* peer = find_peer(name);
    if (peer == nullptr) {
      std::vector<std::string> known;
      for (const Peer& each : all_peers()) known.push_back(each.name);
      throw Failure(fmt::format("'{}' is not a peer: all, {}", name, fmt::join(known, ", ")),
                    kExitUsage);
    }
    if (std::ranges::find(peers, name, &Peer::name) == peers.end()) peers.push_back(*peer);
  }
  return peers;
}

std::string program_of(const Peer& peer) {
  for (const std::string& program : peer.programs) {
    if (std::string path = find_program(program); !path.empty()) return path;
  }
  return "";
}

std::string how_to_install(const Peer& peer) {
  if (!peer.target.empty() || !peer.npm.empty()) {
    std::vector<std::string> needs = peer.debian;
    needs.insert(needs.end(), peer.npm.begin(), peer.npm.end());
    return fmt::format("./dev bench --peers {} installs {} and builds what it takes", peer.name,
                       fmt::join(needs, ", "));
  }
  return fmt::format("on Debian: apt-get install {}", fmt::join(peer.debian, " "));
}

Recipe recipe_of(const Peer& peer) {
  return {.words = with_program(peer.recipe.words, program_of(peer)), .files = peer.recipe.files};
}

std::string version_of(const Peer& peer) {
  const auto said = output_of(with_program(peer.version, program_of(peer)));
  const std::string number = version_number(said.value_or(""));
  return number.empty() ? "unknown" : number;
}

std::string version_number(std::string_view text) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto inside = [&](char c) {
    return digit(c) || (std::isalpha(static_cast<unsigned char>(c)) != 0) ||
           std::string_view(".+~-").find(c) != std::string_view::npos;
  };
  for (std::size_t start = 0; start < text.size(); ++start) {
    if (!digit(text[start]) || (start > 0 && digit(text[start - 1]))) continue;
    std::size_t end = start;
    while (end < text.size() && digit(text[end])) ++end;
    if (end + 1 >= text.size() || text[end] != '.' || !digit(text[end + 1])) continue;
    while (end < text.size() && inside(text[end])) ++end;
    return std::string(text.substr(start, end - start));
  }
  return "";
}

}  // namespace leantea::lab

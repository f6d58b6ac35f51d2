#include "commit.hpp"

#include <fmt/format.h>

#include "history.hpp"
#include "interrupt.hpp"
#include "process.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

/// What git prints; nothing when it fails.
std::optional<std::string> git(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "git");
  if (find_program("git").empty()) return std::nullopt;
  Process process({.words = std::move(arguments)});
  const auto exit = process.wait_until(Clock::time_point::max());
  if (!exit || exit->code != 0) return std::nullopt;
  return std::string(trimmed(process.output()));
}

}  // namespace

std::string commit_url(std::string_view remote, std::string_view id) {
  for (const std::string_view scheme : {"https://", "http://", "ssh://"}) {
    if (remote.starts_with(scheme)) remote.remove_prefix(scheme.size());
  }
  // Behind user@ stands the host; before it there may be a password, which is nobody's business.
  if (const std::size_t at = remote.find('@'); at != std::string_view::npos)
    remote.remove_prefix(at + 1);
  if (remote.ends_with(".git")) remote.remove_suffix(4);
  const std::size_t end = remote.find_first_of(":/");
  const std::string_view host = remote.substr(0, end);
  if (end == std::string_view::npos || end == 0 || host.find('.') == std::string_view::npos ||
      host.starts_with('.')) {
    return "";
  }
  return fmt::format("https://{}/{}/commit/{}", host, remote.substr(end + 1), id);
}

std::optional<Commit> commit_here() {
  const auto shown = git({"log", "-1", "--format=%H%n%an%n%cI%n%s"});
  if (!shown) return std::nullopt;
  const auto lines = split(*shown, '\n');
  if (lines.size() < 4) return std::nullopt;
  Commit commit{
      .id = std::string(lines[0]),
      .subject = std::string(lines[3]),
      .author = std::string(lines[1]),
      .date = std::string(lines[2]),
      .url = commit_url(git({"config", "--get", "remote.origin.url"}).value_or(""), lines[0]),
      .dirty = false};
  const auto changed = git({"status", "--porcelain", "--untracked-files=no", "--", ":/",
                            fmt::format(":(top,exclude){}", kHistoryFolder), ":(top,exclude)site"});
  commit.dirty = !changed || !changed->empty();
  return commit;
}

}  // namespace leantea::lab

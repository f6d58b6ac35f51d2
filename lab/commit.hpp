// The commit that a run is of, asked of git. Main thread only.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leantea::lab {

struct Commit {
  std::string id;  ///< 40 hexadecimal digits
  std::string subject;
  std::string author;
  std::string date;    ///< ISO 8601
  std::string url;     ///< its page, where the remote `origin` is a host's; else empty
  bool dirty = false;  ///< files differ from it, beside those of the history and the page
};

/// The commit of the working directory; nothing outside of a repository, or without git.
std::optional<Commit> commit_here();

/// The page of a commit of the repository with this remote address (`https://host/owner/name.git`,
/// `git@host:owner/name.git`, `ssh://git@host/owner/name`), or empty when it is none of a host's.
std::string commit_url(std::string_view remote, std::string_view id);

}  // namespace leantea::lab

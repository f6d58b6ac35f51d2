// The rivals: servers of others that are measured beside ours. Each is data: lab/peers/<name>.toml says what it needs,
// how it is started and what it cannot do, and a file beside it is its configuration or a small program on top of it.
// lab/peers/nginx.toml explains every key. Main thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace leantea::lab {

/// Words between braces, such as {port}, and what stands in their place in a started server's command and files.
using Placeholders = std::map<std::string, std::string, std::less<>>;

/// `text` with the placeholders replaced. Throws Failure (exit code 2) on a lower-case word between braces that is not
/// one of them. `${word}` and braces around anything else are left as they are.
std::string filled(std::string_view text, const Placeholders& values);

/// How a server is started. Words and files hold placeholders: {port}, {workers}, {connections} (how many it has to be
/// able to hold), {descriptors} (for these and its files), {cpus} (0,1,…), {directory} (of its own files), {user} (who
/// runs the lab), and the contents {health} and {json}.
struct Recipe {
  /// Program and arguments. Without {port}, here or in the files, it has to print its address.
  std::vector<std::string> words;
  std::map<std::string, std::string> files;  ///< path below {directory} → text
};

/// What a server may be unable to do, beside the routes (`/echo`): keys of Peer::cannot and ServerPlan::cannot.
inline constexpr std::string_view kPipelinedRequests = "pipelining";
inline constexpr std::string_view kHttp10KeepAlive = "http10-keep-alive";  ///< as `ab -k` asks
inline constexpr std::string_view kClosingOnRequest = "closing";  ///< by `Connection: close`
inline constexpr std::string_view kSeveralWorkers = "workers";    ///< more than one core

/// What cannot be done → why.
using Cannot = std::map<std::string, std::string, std::less<>>;

struct Peer {
  std::string name;
  std::string title;
  std::vector<std::string> debian;    ///< packages
  std::vector<std::string> npm;       ///< packages of lab/peers/package.json
  std::string target;                 ///< the CMake target that builds it; empty: nothing is built
  std::vector<std::string> programs;  ///< the first of these that is there is {program}
  std::vector<std::string> version;   ///< the command that prints its version
  Recipe recipe;
  std::uint64_t most_connections = 0;  ///< that it can be measured with; 0: any number
  std::chrono::milliseconds warm_up{
      0};  ///< beyond the usual, for programs that compile themselves while they run
  Cannot cannot;
};

/// Reads a description. Throws Failure (exit code 2) that names the file and the line of a mistake.
Peer read_peer(std::string_view text, std::string_view name);

/// All of lab/peers, in alphabetical order.
const std::vector<Peer>& all_peers();

/// The one with this name, or null.
const Peer* find_peer(std::string_view name);

/// Those with these names, each once; none or `all` means all of them. Throws Failure (exit code 2) on another name.
std::vector<Peer> peers_named(const std::vector<std::string>& names);

/// The path of its program, or empty when it is not installed.
std::string program_of(const Peer& peer);

/// What has to be done for it to be there, in words: `apt-get install h2o`. REQUIRES: it is not installed.
std::string how_to_install(const Peer& peer);

/// Its recipe and version command with {program} in place. REQUIRES: it is installed.
Recipe recipe_of(const Peer& peer);

/// What it says about its version: the number alone, or `unknown`.
std::string version_of(const Peer& peer);

/// The first number with a dot in `text` (`1.22.1` of `nginx version: nginx/1.22.1`), with what hangs on it. Empty when
/// there is none.
std::string version_number(std::string_view text);

}  // namespace leantea::lab

// What ServerOptions mean: which backend with how many loops, which addresses, and what is wrong.
//
// Pure functions, any thread. Errors are sentences that say what to change.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include <leantea/server.hpp>

namespace leantea::server {

/// The environment variable that chooses the backend where ServerOptions::backend does not.
inline constexpr const char* kBackendVariable = "LEANTEA_HTTP_BACKEND";

/// More loops than any machine this was tried on has processors; a larger number is a slip.
inline constexpr unsigned kMaxLoops = 1024;

struct BackendChoice {
  std::string name;
  unsigned loops = 1;
  /// The choice came from the environment: what is wrong with it is to be said of kBackendVariable.
  bool from_environment = false;
};

/// Which backend, and how many loops. `environment` is the variable's value, empty when it is not set.
/// "NAME" or "NAME:N"; "fast" is another name for "threads". Whether the backend exists is not judged.
std::expected<BackendChoice, std::string> choose_backend(const ServerOptions& options,
                                                         std::string_view environment);

/// Where to listen: `addresses`, or host and port when there are none.
std::vector<std::string> listen_addresses(const ServerOptions& options);

/// Judges what choose_backend() and listening do not.
std::expected<void, std::string> check_options(const ServerOptions& options);

}  // namespace leantea::server

#include "server/options.hpp"

#include <charconv>
#include <optional>

namespace leantea::server {
namespace {

std::optional<unsigned> loops_from(std::string_view digits) {
  unsigned loops = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, loops);
  if (error != std::errc{} || stopped != end || loops == 0 || loops > kMaxLoops)
    return std::nullopt;
  return loops;
}

std::expected<BackendChoice, std::string> parse_choice(std::string_view text, unsigned loops) {
  const std::size_t colon = text.find(':');
  BackendChoice choice{.name = std::string(text.substr(0, colon)), .loops = loops};
  if (choice.name == "fast") choice.name = "threads";
  if (colon == std::string_view::npos) return choice;
  const auto number = loops_from(text.substr(colon + 1));
  if (!number || choice.name.empty())
    return std::unexpected("the backend \"" + std::string(text) +
                           "\" is not understood: write NAME or NAME:N with 1 to " +
                           std::to_string(kMaxLoops) + " loops, like \"reactor:2\"");
  choice.loops = *number;
  return choice;
}

}  // namespace

std::expected<BackendChoice, std::string> choose_backend(const ServerOptions& options,
                                                         std::string_view environment) {
  if (!options.backend.empty()) return parse_choice(options.backend, options.threads);
  if (environment.empty()) return BackendChoice{.name = "reactor", .loops = options.threads};
  auto choice = parse_choice(environment, options.threads);
  if (!choice) return std::unexpected(std::string(kBackendVariable) + ": " + choice.error());
  choice->from_environment = true;
  return choice;
}

std::vector<std::string> listen_addresses(const ServerOptions& options) {
  if (!options.addresses.empty()) return options.addresses;
  const bool bare_ipv6 =
      options.host.find(':') != std::string::npos && !options.host.starts_with('[');
  const std::string host = bare_ipv6 ? '[' + options.host + ']' : options.host;
  return {host + ':' + std::to_string(options.port)};
}

std::expected<void, std::string> check_options(const ServerOptions& options) {
  const auto wrong = [](std::string_view name, std::string_view what) {
    return std::unexpected("ServerOptions::" + std::string(name) + ' ' + std::string(what));
  };
  if (options.threads == 0 || options.threads > kMaxLoops)
    return wrong("threads", "is " + std::to_string(options.threads) + ": use 1 to " +
                                std::to_string(kMaxLoops) + " loops");
  if (options.connection_threads == 0)
    return wrong("connection_threads", "is 0: nobody could be served; use 1 or more");
  if (options.backlog < 1)
    return wrong("backlog", "is " + std::to_string(options.backlog) +
                                ": no client could wait to be accepted; use 1 or more");
  if (options.defer_accept_seconds < 0)
    return wrong("defer_accept_seconds", "is negative: use 0 to turn it off");
  return options.limits.check();
}

}  // namespace leantea::server

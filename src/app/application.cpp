#include "app/application.hpp"

#include <cstdio>
#include <string>
#include <utility>

namespace leantea::app {
namespace {

/// One call, so that lines of several threads do not mix: standard error is not buffered, and a call
/// becomes one write.
void log_to_standard_error(std::string_view line) {
  std::string whole = "leantea: ";
  whole.append(line).append("\n");
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

}  // namespace

Application::Application(Router router, Log log)
    : routes_(std::move(RouterAccess::routes(router))),
      not_found_(std::move(RouterAccess::not_found(router))),
      log_(log ? std::move(log) : Log{log_to_standard_error}) {}

void Application::log(std::string_view line) const noexcept {
  try {
    log_(line);
  } catch (...) {  // NOLINT(bugprone-empty-catch)
    // There is no place left to say so, and a request must not fail for its log line.
  }
}

}  // namespace leantea::app

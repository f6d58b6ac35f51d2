#include "net/backend.hpp"

#include <array>

#include "app/application.hpp"
#include "net/reactor/reactor.hpp"

// Present or not, by folder: a build without the library leaves the folder out.
#if defined(LEANTEA_HAS_URING) && LEANTEA_HAS_URING && __has_include("net/uring/uring.hpp")
#define LEANTEA_BACKEND_URING 1
#include "net/uring/uring.hpp"
#else
#define LEANTEA_BACKEND_URING 0
#endif
#if defined(LEANTEA_HAS_UV) && LEANTEA_HAS_UV && __has_include("net/libuv/libuv.hpp")
#define LEANTEA_BACKEND_LIBUV 1
#include "net/libuv/libuv.hpp"
#else
#define LEANTEA_BACKEND_LIBUV 0
#endif
#if __has_include("net/threads/threads.hpp")
#define LEANTEA_BACKEND_THREADS 1
#include "net/threads/threads.hpp"
#else
#define LEANTEA_BACKEND_THREADS 0
#endif

namespace leantea::net {
namespace {

using Made = std::expected<std::unique_ptr<Backend>, std::string>;

constexpr auto kNames = std::to_array<std::string_view>({
    "reactor",
#if LEANTEA_BACKEND_URING
    "uring",
#endif
#if LEANTEA_BACKEND_THREADS
    "threads",
#endif
#if LEANTEA_BACKEND_LIBUV
    "libuv",
#endif
});

std::string list_of_names() {
  std::string list;
  for (const std::string_view name : kNames) list += std::string(name) + ", ";
  return list + "auto";
}

[[maybe_unused]] Made not_built(std::string_view name, std::string_view package) {
  return std::unexpected("the backend \"" + std::string(name) +
                         "\" is not in this build: install its library (Debian: apt-get install " +
                         std::string(package) + ") and build again, or choose one of " +
                         list_of_names());
}

Made make_uring_backend([[maybe_unused]] app::ServerShared& shared,
                        [[maybe_unused]] const BackendOptions& options) {
#if LEANTEA_BACKEND_URING
  if (auto works = uring_available(); !works) {
    return std::unexpected("the backend \"uring\" does not work here: " + works.error() +
                           ": choose another, or \"auto\"");
  }
  return make_uring(shared, options);
#else
  return not_built("uring", "liburing-dev");
#endif
}

Made make_libuv_backend([[maybe_unused]] app::ServerShared& shared,
                        [[maybe_unused]] const BackendOptions& options) {
#if LEANTEA_BACKEND_LIBUV
  return make_libuv(shared, options);
#else
  return not_built("libuv", "libuv1-dev");
#endif
}

Made make_threads_backend([[maybe_unused]] app::ServerShared& shared,
                          [[maybe_unused]] const BackendOptions& options) {
#if LEANTEA_BACKEND_THREADS
  return make_threads(shared, options);
#else
  return std::unexpected("the backend \"threads\" is not in this build: choose one of " +
                         list_of_names());
#endif
}

/// io_uring where it is built and allowed, else the reactor, which works everywhere. Where it is forbidden the log
/// says so: whoever counts on it should not have to guess.
Made make_best_backend(app::ServerShared& shared, const BackendOptions& options) {
#if LEANTEA_BACKEND_URING
  const auto works = uring_available();
  if (works) return make_uring(shared, options);
  shared.application.log("the backend \"auto\" takes \"reactor\": " + works.error());
#endif
  return make_reactor(shared, options);
}

}  // namespace

Made make_backend(std::string_view name, app::ServerShared& shared, const BackendOptions& options) {
  if (name == "reactor") return make_reactor(shared, options);
  if (name == "uring") return make_uring_backend(shared, options);
  if (name == "threads") return make_threads_backend(shared, options);
  if (name == "libuv") return make_libuv_backend(shared, options);
  if (name == "auto") return make_best_backend(shared, options);
  return std::unexpected("there is no backend \"" + std::string(name) + "\": choose one of " +
                         list_of_names());
}

std::span<const std::string_view> backend_names() noexcept { return kNames; }

}  // namespace leantea::net

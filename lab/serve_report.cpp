#include "serve_report.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <leantea/leantea.hpp>

#include "failure.hpp"
#include "interrupt.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

namespace fs = std::filesystem;

// ---- Files --------------------------------------------------------------------------------------

struct ContentType {
  std::string_view extension;
  std::string_view type;
};
constexpr std::array kContentTypes = {ContentType{".html", "text/html; charset=utf-8"},
                                      ContentType{".json", "application/json"},
                                      ContentType{".js", "text/javascript; charset=utf-8"},
                                      ContentType{".css", "text/css; charset=utf-8"},
                                      ContentType{".svg", "image/svg+xml"},
                                      ContentType{".png", "image/png"},
                                      ContentType{".txt", "text/plain; charset=utf-8"}};

std::string_view content_type_of(const fs::path& file) {
  const auto* const known =
      std::ranges::find(kContentTypes, file.extension().string(), &ContentType::extension);
  return known == kContentTypes.end() ? "application/octet-stream" : known->type;
}

/// The file that a path below /bench/ means; nothing when it is outside, hidden, or no file. Symbolic links are
/// followed first, so that they cannot lead outside either.
std::optional<fs::path> file_for(const fs::path& folder, std::string_view path) {
  for (const std::string_view segment : split(path, '/'))
    if (segment.starts_with('.')) return std::nullopt;
  if (path.find('\0') != std::string_view::npos) return std::nullopt;
  std::error_code error;
  fs::path file = fs::canonical(folder / path, error);
  if (error) return std::nullopt;
  if (fs::is_directory(file, error)) file = fs::canonical(file / "index.html", error);
  const fs::path root = fs::canonical(folder, error);
  if (error || !fs::is_regular_file(file, error)) return std::nullopt;
  const auto [end_of_root, rest] = std::ranges::mismatch(root, file);
  if (end_of_root != root.end()) return std::nullopt;
  return file;
}

std::optional<std::string> text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::nullopt;
  return text;
}

// ---- Fields of the answer -----------------------------------------------------------------------

/// Changes with every byte of the text.
std::string entity_tag(std::string_view text) {
  return fmt::format("\"{:x}-{:x}\"", text.size(), std::hash<std::string_view>{}(text));
}

/// RFC 9110 §13.1.2: a list of tags, compared weakly, or `*`.
bool matches(std::string_view if_none_match, std::string_view tag) {
  for (std::string_view one : split(if_none_match, ',')) {
    one = trimmed(one);
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag || one == "*") return true;
  }
  return false;
}

/// The policy that a page names for itself in a meta element: the build of the page knows the hashes of what is in it.
/// Other files may load nothing, and nothing may show any of them in a frame, which a meta element cannot say.
std::string security_policy(std::string_view text, std::string_view type) {
  constexpr std::string_view kMeta = "<meta http-equiv=\"Content-Security-Policy\" content=\"";
  constexpr std::string_view kFrames = "frame-ancestors 'none'";
  const std::size_t meta =
      type.starts_with("text/html") ? text.find(kMeta) : std::string_view::npos;
  if (meta == std::string_view::npos) return fmt::format("default-src 'none'; {}", kFrames);
  const std::string_view policy = text.substr(meta + kMeta.size());
  return fmt::format("{}; {}", policy.substr(0, policy.find('"')), kFrames);
}

Response answer(const Request& request, const fs::path& folder, std::string_view path) {
  const std::optional<fs::path> file = file_for(folder, path);
  std::optional<std::string> text = file ? text_of(*file) : std::nullopt;
  if (!text)
    return Response::text("There is no such page here. /bench/ is what there is.\n")
        .set_status(Status::kNotFound);
  const std::string_view type = content_type_of(*file);
  const std::string tag = entity_tag(*text);
  const std::string policy = security_policy(*text, type);
  const bool unchanged = matches(request.header("If-None-Match").value_or(""), tag);
  Response response = unchanged ? Response(Status::kNotModified)
                                : Response::content(type, Content(std::move(*text)));
  response.header("ETag", tag).header("Cache-Control", "no-cache");
  if (unchanged) return response;
  return std::move(response.header("Content-Security-Policy", policy)
                       .header("X-Content-Type-Options", "nosniff")
                       .header("Referrer-Policy", "no-referrer"));
}

// Enough for the people who look at a page, and within any limit of open files.
constexpr std::uint32_t kConnections = 256;

// Long enough that waking up costs nothing.
constexpr std::chrono::hours kWait{24};

}  // namespace

Router site_router(const fs::path& site) {
  const fs::path folder = site / "bench";
  const auto to_page = [](const Request&) { return Response::redirect("/bench/"); };
  Router router;
  router.get("/", to_page);
  router.get("/bench", to_page);
  router.get("/bench/{path...}", [folder](const Request& request) {
    return answer(request, folder, request.param("path"));
  });
  return router;
}

int serve_report(const ServeReportOptions& options) {
  const fs::path page = fs::path(options.site) / "bench" / "index.html";
  if (!fs::is_regular_file(page))
    throw Failure(fmt::format("there is no page {}: ./dev report makes it, --site names another "
                              "folder",
                              page.string()),
                  kExitUsage);
  ServerOptions server_options{.host = options.host, .port = options.port};
  server_options.limits.connections = kConnections;
  Server server(site_router(options.site), std::move(server_options));
  if (const auto started = server.start(); !started) throw Failure(started.error(), kExitUsage);
  for (const std::string& address : server.addresses())
    fmt::print("http://{}/bench/ (Ctrl-C ends it)\n", address);
  std::fflush(stdout);
  try {
    for (;;) pause_for(kWait);
  } catch (const Interrupted&) {
    server.stop();
    return 0;
  }
}

}  // namespace leantea::lab

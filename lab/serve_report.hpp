// Serves the report page with LeanTea itself.
//
// Main thread only; the router's handlers run on the server's threads and read files alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <leantea/router.hpp>

namespace leantea::lab {

struct ServeReportOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8090;  ///< 0: a free one
  std::string site = "site";  ///< its folder bench/ is served at /bench/
};

/// Serves until Ctrl-C or SIGTERM. The exit code. Throws Failure: no page, or a port in use.
int serve_report(const ServeReportOptions& options);

/// The routes: /bench/ with the files of `site`/bench, and / that leads there. Files are read anew for every request,
/// so a page that was made anew is there with the next reload.
Router site_router(const std::filesystem::path& site);

}  // namespace leantea::lab

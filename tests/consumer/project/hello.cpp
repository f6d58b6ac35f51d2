// Starts a server on a free port and ends it again.

#include <cstdio>

#include <leantea/leantea.hpp>

int main() {
  leantea::Router app;
  app.get("/", [](const leantea::Request&) { return leantea::Response::text("hello\n"); });
  leantea::Server server{std::move(app), {.port = 0}};
  if (const auto started = server.start(); !started) {
    std::fprintf(stderr, "%s\n", started.error().c_str());
    return 1;
  }
  if (server.port() == 0) return 1;
  server.stop();
  return 0;
}

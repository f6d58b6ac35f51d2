// The smallest server: one route on http://127.0.0.1:8080, until Ctrl-C.
#include <leantea/leantea.hpp>

using namespace leantea;

int main() {
  Router app;
  app.get("/", [](const Request&) { return Response::text("Hello, world!\n"); });
  return Server{std::move(app), {.port = 8080}}.run();
}

// Patterns: a parameter takes one segment of the path, "{name...}" the rest of it, and a literal segment
// wins over both.
//
//   curl http://127.0.0.1:8080/users/42
//   curl http://127.0.0.1:8080/users/me
//   curl http://127.0.0.1:8080/files/photos/2024/tea.jpg
//   curl 'http://127.0.0.1:8080/search?q=green+tea'
#include <string>

#include <leantea/leantea.hpp>

using namespace leantea;

namespace {

Response user(const Request& r) {
  return Response::text("user " + std::string(r.param("id")) + "\n");
}

Response file(const Request& r) {
  return Response::text("file " + std::string(r.param("path")) + "\n");
}

Response search(const Request& r) {
  const auto wanted = r.query_param("q");
  if (!wanted)
    return Response::text("Say what to search for: ?q=…\n").set_status(Status::kBadRequest);
  return Response::text("nothing found for " + *wanted + "\n");
}

}  // namespace

int main() {
  Router app;
  app.get("/users/{id}", user);
  app.get("/users/me", [](const Request&) { return Response::text("you\n"); });
  app.get("/files/{path...}", file);
  app.get("/search", search);
  return Server{std::move(app), {.port = 8080}}.run();
}

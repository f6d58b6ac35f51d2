// Routers and servers are plain objects, so a program has as many as it likes: here the public side on
// one port and the operators' side on another, which shows what the public one does and can end it.
//
//   curl http://127.0.0.1:8080/
//   curl http://127.0.0.1:9090/connections
//   curl -X POST http://127.0.0.1:9090/drain
#include <cstdio>
#include <string>

#include <leantea/leantea.hpp>

using namespace leantea;

namespace {

Router public_side() {
  Router app;
  app.get("/", [](const Request&) { return Response::text("Welcome\n"); });
  return app;
}

Router operators_side(Server& watched) {
  Router app;
  app.get("/connections", [&watched](const Request&) {
    return Response::text(std::to_string(watched.connections()) + "\n");
  });
  app.post("/drain", [&watched](const Request&) {
    watched.drain();
    return Response{Status::kAccepted};
  });
  return app;
}

}  // namespace

int main() {
  Server shop{public_side(), {.port = 8080, .threads = 2}};
  Server desk{operators_side(shop), {.port = 9090}};
  if (const auto started = desk.start(); !started) {
    std::fprintf(stderr, "several_servers: %s\n", started.error().c_str());
    return 2;
  }
  // Until SIGTERM, SIGINT or the operators' POST. The desk's destructor ends the other one.
  return shop.run();
}

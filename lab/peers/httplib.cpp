// cpp-httplib as it is measured: it blocks a thread for as long as a connection is kept, so it gets as many threads as
// there may be connections; with the eight it starts by itself all other clients would wait for ever.
//
//   httplib PORT CONNECTIONS JSON      serves /health, /json (this text), /echo and /sum on 127.0.0.1
//   httplib --version

#include <httplib.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string>
#include <string_view>

namespace {

/// The value of Date. Each thread makes it anew when the second is another one.
const std::string& date() {
  thread_local std::time_t made_at = 0;
  thread_local std::string text;
  if (const std::time_t now = std::time(nullptr); now != made_at) {
    made_at = now;
    char buffer[32];
    std::tm parts{};
    gmtime_r(&now, &parts);
    text.assign(buffer, std::strftime(buffer, sizeof buffer, "%a, %d %b %Y %H:%M:%S GMT", &parts));
  }
  return text;
}

void answer(httplib::Response& response, const std::string& content, const char* type) {
  response.set_header("Date", date());
  response.set_content(content, type);
}

long number(const std::string& text) { return std::strtol(text.c_str(), nullptr, 10); }

void answer_sum(const httplib::Request& request, httplib::Response& response) {
  const long sum = number(request.get_param_value("a")) + number(request.get_param_value("b")) +
                   number(request.body);
  answer(response, std::to_string(sum), "text/plain");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::printf("cpp-httplib %s\n", CPPHTTPLIB_VERSION);
    return 0;
  }
  if (argc != 4) {
    std::fprintf(stderr, "usage: httplib PORT CONNECTIONS JSON\n");
    return 2;
  }
  const auto threads = static_cast<std::size_t>(number(argv[2]));
  const std::string json = argv[3];

  httplib::Server server;
  server.new_task_queue = [threads] { return new httplib::ThreadPool(threads); };
  server.set_keep_alive_max_count(std::numeric_limits<std::size_t>::max());
  server.set_keep_alive_timeout(3600);
  server.set_tcp_nodelay(true);
  server.Get("/health", [](const auto&, auto& response) { answer(response, "OK", "text/plain"); });
  server.Get("/json",
             [&json](const auto&, auto& response) { answer(response, json, "application/json"); });
  server.Post("/echo", [](const auto& request, auto& response) {
    answer(response, request.body, "application/octet-stream");
  });
  server.Get("/sum", answer_sum);
  server.Post("/sum", answer_sum);
  // The library lets five connections wait for being accepted; with more the clients' first packets are lost, and come
  // again a second later, or thirty. Linux takes another number on a socket that listens already.
  socket_t listener = INVALID_SOCKET;
  server.set_socket_options([&listener](socket_t socket) {
    httplib::default_socket_options(socket);
    listener = socket;
  });
  const bool bound = server.bind_to_port("127.0.0.1", static_cast<int>(number(argv[1])));
  if (bound && ::listen(listener, 4096) == 0 && server.listen_after_bind()) return 0;
  std::fprintf(stderr, "httplib: cannot listen on port %s: is it in use?\n", argv[1]);
  return 1;
}

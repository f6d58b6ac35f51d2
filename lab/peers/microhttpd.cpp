// GNU libmicrohttpd as it is measured: epoll, a thread and a listening socket per worker, no connection timeout, and
// the constant answers made once, as its manual advises.
//
// The thread is ours, not the library's: version 0.9.75 asks for 128 events at a time, and when it got just as many it
// waits for more, up to a second, before it answers the first. With its own thread 128 connections of wrk, all of which
// wait for their answer, made 350 requests/s. Waiting here, and calling it when there is something to do, it never
// waits.
//
//   microhttpd PORT WORKERS CONNECTIONS JSON      serves /health, /json (this text), /echo and /sum on 127.0.0.1
//   microhttpd --version

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

MHD_Response* health = nullptr;
MHD_Response* json = nullptr;
std::string no_content;  // of requests whose content nobody reads

MHD_Response* make(std::string_view content, const char* type) {
  MHD_Response* response = MHD_create_response_from_buffer(
      content.size(), const_cast<char*>(content.data()),  // NOLINT: it is copied
      MHD_RESPMEM_MUST_COPY);
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  return response;
}

/// Answers with a response that is used once.
MHD_Result answer_with(MHD_Connection* connection, MHD_Response* response) {
  const MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
  MHD_destroy_response(response);
  return result;
}

long parameter(MHD_Connection* connection, const char* name) {
  const char* value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
  return value == nullptr ? 0 : std::strtol(value, nullptr, 10);
}

/// Called with the head, then for each piece of content, then once more when all is there.
MHD_Result handle(void* /*closure*/, MHD_Connection* connection, const char* url,
                  const char* /*method*/, const char* /*version*/, const char* upload,
                  std::size_t* upload_size, void** request) {
  const std::string_view path = url;
  const bool is_constant = path == "/health" || path == "/json";
  // An answer in the first of the calls would end the connection.
  if (*request == nullptr) {
    *request = is_constant ? &no_content : new std::string;
    return MHD_YES;
  }
  if (is_constant)
    return MHD_queue_response(connection, MHD_HTTP_OK, path == "/health" ? health : json);
  auto& content = *static_cast<std::string*>(*request);
  if (*upload_size > 0) {
    content.append(upload, *upload_size);
    *upload_size = 0;
    return MHD_YES;
  }
  if (path == "/echo") return answer_with(connection, make(content, "application/octet-stream"));
  if (path != "/sum") return MHD_NO;
  const long sum = parameter(connection, "a") + parameter(connection, "b") +
                   std::strtol(content.c_str(), nullptr, 10);
  return answer_with(connection, make(std::to_string(sum), "text/plain"));
}

void forget(void* /*closure*/, MHD_Connection* /*connection*/, void** request,
            MHD_RequestTerminationCode /*how*/) {
  if (auto* content = static_cast<std::string*>(*request); content != &no_content) delete content;
  *request = nullptr;
}

unsigned number(const char* text) { return static_cast<unsigned>(std::strtoul(text, nullptr, 10)); }

/// Runs a daemon on this thread, for ever.
void serve(const sockaddr_in& address, unsigned connections) {
  MHD_Daemon* daemon = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_USE_TURBO | MHD_USE_ERROR_LOG, 0, nullptr, nullptr, &handle, nullptr,
      MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U,
      MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT, 0U,
      MHD_OPTION_LISTEN_BACKLOG_SIZE, 4096U, MHD_OPTION_NOTIFY_COMPLETED, &forget, nullptr,
      MHD_OPTION_END);
  if (daemon == nullptr) {
    std::fprintf(stderr, "microhttpd: cannot start: %s\n", std::strerror(errno));
    std::exit(1);
  }
  pollfd epoll{.fd = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
               .events = POLLIN,
               .revents = 0};
  for (;;) {
    MHD_UNSIGNED_LONG_LONG milliseconds = 0;
    const bool soon = MHD_get_timeout(daemon, &milliseconds) == MHD_YES;
    ::poll(&epoll, 1, soon ? static_cast<int>(milliseconds) : -1);
    MHD_run(daemon);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::printf("libmicrohttpd %s\n", MHD_get_version());
    return 0;
  }
  if (argc != 5) {
    std::fprintf(stderr, "usage: microhttpd PORT WORKERS CONNECTIONS JSON\n");
    return 2;
  }
  health = make("OK", "text/plain");
  json = make(argv[4], "application/json");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(number(argv[1])));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<std::jthread> others;
  for (unsigned i = 1; i < number(argv[2]); ++i)
    others.emplace_back([&] { serve(address, number(argv[3])); });
  serve(address, number(argv[3]));
  return 0;
}

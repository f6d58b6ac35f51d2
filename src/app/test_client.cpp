#include <algorithm>
#include <charconv>
#include <stdexcept>

#include <leantea/test.hpp>

#include "app/socketless.hpp"
#include "http/ascii.hpp"

namespace leantea::test {

namespace {

/// Takes one line off the front, without its CRLF.
std::string_view take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find("\r\n");
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 2);
  return line;
}

Headers take_fields(std::string_view& bytes) {
  Headers fields;
  for (std::string_view line = take_line(bytes); !line.empty(); line = take_line(bytes)) {
    const std::size_t colon = line.find(':');
    fields.emplace_back(line.substr(0, colon), http::trim_ows(line.substr(colon + 1)));
  }
  return fields;
}

std::optional<std::string_view> find(const Headers& fields, std::string_view name) noexcept {
  for (const auto& [key, value] : fields)
    if (http::equal_ignoring_case(key, name)) return value;
  return std::nullopt;
}

std::uint64_t number(std::string_view digits, int base) noexcept {
  std::uint64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  return value;
}

void take_chunks(std::string_view& bytes, Answer& answer) {
  for (;;) {
    if (bytes.find("\r\n") == std::string_view::npos) {
      answer.truncated = true;
      return;
    }
    const auto size = static_cast<std::size_t>(number(take_line(bytes), 16));
    if (size == 0) break;
    answer.truncated = bytes.size() < size + 2;
    answer.body.append(bytes.substr(0, size));
    if (answer.truncated) return;
    bytes.remove_prefix(size + 2);
  }
  answer.trailers = take_fields(bytes);
}

Answer parse_answer(std::string_view bytes, bool head) {
  Answer answer;
  while (!bytes.empty()) {
    const std::string_view status_line = take_line(bytes);
    if (!status_line.starts_with("HTTP/1.1 ") || status_line.size() < 12)
      throw std::runtime_error("not a status line: " + std::string(status_line));
    const int status = static_cast<int>(number(status_line.substr(9, 3), 10));
    Headers fields = take_fields(bytes);
    if (status < 200) {
      answer.interim.push_back(status);
      continue;
    }
    answer.status = status;
    answer.headers = std::move(fields);
    break;
  }
  if (head || answer.status == 204 || answer.status == 304) return answer;
  if (answer.header("Transfer-Encoding")) {
    take_chunks(bytes, answer);
  } else if (const auto length = answer.header("Content-Length")) {
    answer.body = bytes.substr(0, static_cast<std::size_t>(number(*length, 10)));
    answer.truncated = answer.body.size() < number(*length, 10);
  } else {
    answer.body = bytes;
  }
  return answer;
}

std::string request_bytes(std::string_view method, std::string_view target,
                          const Options& options) {
  std::string bytes;
  bytes.append(method).append(" ").append(target).append(" HTTP/1.1\r\n");
  if (!find(options.headers, "Host")) bytes.append("Host: test\r\n");
  for (const auto& [name, value] : options.headers)
    bytes.append(name).append(": ").append(value).append("\r\n");
  if (!options.chunks.empty()) {
    bytes.append("Transfer-Encoding: chunked\r\n\r\n");
    for (const std::string& chunk : options.chunks) {
      std::array<char, 16> hex;
      const char* const end =
          std::to_chars(hex.data(), hex.data() + hex.size(), chunk.size(), 16).ptr;
      bytes.append(std::string_view(hex.data(), end)).append("\r\n").append(chunk).append("\r\n");
    }
    return bytes.append("0\r\n\r\n");
  }
  if (!options.body.empty() && !find(options.headers, "Content-Length"))
    bytes.append("Content-Length: ").append(std::to_string(options.body.size())).append("\r\n");
  return bytes.append("\r\n").append(options.body);
}

Router checked(Router router) {
  std::string all;
  for (const std::string& problem : router.problems())
    all.append(all.empty() ? "" : "; ").append(problem);
  if (!all.empty()) throw std::invalid_argument(all);
  return router;
}

}  // namespace

std::optional<std::string_view> Answer::header(std::string_view name) const noexcept {
  return find(headers, name);
}

struct App::Impl {
  explicit Impl(Router router, Limits limits) : server(checked(std::move(router)), limits) {}
  app::SocketlessServer server;
  std::vector<std::string> log;
};

App::App(Router router, Limits limits) : impl_(std::make_unique<Impl>(std::move(router), limits)) {}
App::~App() = default;

std::string App::exchange(std::string_view bytes) {
  app::SocketlessServer& server = impl_->server;
  app::SocketlessConnection connection(server);
  while (!bytes.empty() && !connection.closed()) {
    // As a socket would: nothing is given while nothing is wanted, and time passes for who waits.
    if (connection.wants_input()) {
      const std::string_view part = bytes.substr(0, 64 * 1024);
      bytes.remove_prefix(part.size());
      connection.receive(part);
    } else if (!connection.wait()) {
      break;
    }
  }
  while (!connection.closed() && connection.busy() && connection.wait()) {
  }
  impl_->log = server.log();
  return connection.take_sent();
}

Answer App::call(std::string_view method, std::string_view target, const Options& options) {
  return parse_answer(exchange(request_bytes(method, target, options)), method == "HEAD");
}

const std::vector<std::string>& App::log() const noexcept { return impl_->log; }

Answer call(Router router, std::string_view method, std::string_view target,
            const Options& options) {
  return App{std::move(router)}.call(method, target, options);
}

}  // namespace leantea::test

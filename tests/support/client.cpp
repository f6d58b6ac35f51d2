#include "support/client.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

namespace leantea::test {
namespace {

using Clock = std::chrono::steady_clock;

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
};

std::uint16_t number(std::string_view text) {
  std::uint16_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Address parse(std::string_view text) {
  Address address;
  if (text.starts_with("unix:")) {
    auto* to = reinterpret_cast<sockaddr_un*>(&address.storage);
    to->sun_family = AF_UNIX;
    text.substr(5).copy(to->sun_path, sizeof to->sun_path - 1);
    address.length = sizeof *to;
    return address;
  }
  const std::size_t colon = text.rfind(':');
  std::string host(text.substr(0, colon));
  if (host.starts_with('[')) {
    host = host.substr(1, host.size() - 2);
    auto* to = reinterpret_cast<sockaddr_in6*>(&address.storage);
    to->sin6_family = AF_INET6;
    to->sin6_port = htons(number(text.substr(colon + 1)));
    inet_pton(AF_INET6, host.c_str(), &to->sin6_addr);
    address.length = sizeof *to;
    return address;
  }
  auto* to = reinterpret_cast<sockaddr_in*>(&address.storage);
  to->sin_family = AF_INET;
  to->sin_port = htons(number(text.substr(colon + 1)));
  inet_pton(AF_INET, host.c_str(), &to->sin_addr);
  address.length = sizeof *to;
  return address;
}

/// The value of a field line in a head, or nothing.
std::optional<std::string_view> field(std::string_view head, std::string_view name) {
  const std::string start = "\r\n" + std::string(name) + ": ";
  const std::size_t at = head.find(start);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = head.substr(at + start.size());
  return rest.substr(0, rest.find("\r\n"));
}

/// Takes a chunked body off the front of `bytes`; nothing while it is not complete.
std::optional<std::string> take_chunked(std::string_view bytes, std::size_t& consumed) {
  std::string body;
  for (std::size_t at = 0;;) {
    const std::size_t line_end = bytes.find("\r\n", at);
    if (line_end == std::string_view::npos) return std::nullopt;
    std::size_t size = 0;
    std::from_chars(bytes.data() + at, bytes.data() + line_end, size, 16);
    at = line_end + 2;
    if (size == 0) {
      const std::size_t end = bytes.find("\r\n", at);  // no trailers in these tests
      if (end == std::string_view::npos) return std::nullopt;
      consumed = end + 2;
      return body;
    }
    if (bytes.size() < at + size + 2) return std::nullopt;
    body.append(bytes, at, size);
    at += size + 2;
  }
}

/// The content behind a head, where all of it is there, and how many bytes it took.
std::optional<std::string> take_content(std::string_view head, std::string_view bytes,
                                        std::size_t& consumed) {
  if (head.substr(9, 1) == "1" || head.substr(9, 3) == "204") return std::string{};
  if (field(head, "Transfer-Encoding") == "chunked") return take_chunked(bytes, consumed);
  std::size_t length = 0;
  if (const auto value = field(head, "Content-Length")) {
    std::from_chars(value->data(), value->data() + value->size(), length);
  }
  if (bytes.size() < length) return std::nullopt;
  consumed = length;
  return std::string(bytes.substr(0, length));
}

}  // namespace

std::string get(std::string_view path, std::string_view fields) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n" + std::string(fields) + "\r\n";
}

std::string post(std::string_view path, std::string_view body, std::string_view fields) {
  return post_head(path, body.size(), fields) + std::string(body);
}

std::string post_head(std::string_view path, std::size_t length, std::string_view fields) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: test\r\nContent-Length: " + std::to_string(length) + "\r\n" +
         std::string(fields) + "\r\n";
}

std::string chunked_post_head(std::string_view path) {
  return "POST " + std::string(path) +
         " HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";
}

std::string chunk(std::string_view bytes) {
  std::array<char, 16> size{};
  const auto end = std::to_chars(size.data(), size.data() + size.size(), bytes.size(), 16).ptr;
  return std::string(size.data(), end) + "\r\n" + std::string(bytes) + "\r\n";
}

Client::Client(std::uint16_t port) : Client("127.0.0.1:" + std::to_string(port)) {}

Client::Client(std::uint16_t port, int segment) {
  connect_to("127.0.0.1:" + std::to_string(port), segment);
}

Client::Client(std::string_view address) { connect_to(address, 0); }

/// `segment`: the largest, 0 for the usual size.
void Client::connect_to(std::string_view address, int segment) {
  const Address to = parse(address);
  fd_ = socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return;
  if (segment > 0) setsockopt(fd_, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof segment);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&to.storage), to.length) != 0) close();
}

Client::Client(Client&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      received_(std::move(other.received_)),
      head_(std::move(other.head_)) {}

Client& Client::operator=(Client&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  received_ = std::move(other.received_);
  head_ = std::move(other.head_);
  return *this;
}

Client::~Client() { close(); }

bool Client::send(std::string_view bytes) {
  const auto until = Clock::now() + kPatience;
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno != EAGAIN || Clock::now() > until) return false;
    pollfd writable{.fd = fd_, .events = POLLOUT, .revents = 0};
    ::poll(&writable, 1, 100);
  }
  return true;
}

std::size_t Client::send_what_fits(std::string_view bytes) {
  const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return sent > 0 ? static_cast<std::size_t>(sent) : 0;
}

std::string Client::answer() {
  for (;;) {
    const std::size_t end = received_.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::string_view head = std::string_view(received_).substr(0, end + 2);
      std::size_t consumed = 0;
      const auto content =
          take_content(head, std::string_view(received_).substr(end + 4), consumed);
      if (content) {
        head_ = head;
        received_.erase(0, end + 4 + consumed);
        return head_.substr(9, 3) + (content->empty() ? "" : " " + *content);
      }
    }
    const Got got = receive_more();
    if (got == Got::kBytes) continue;
    return received_.empty() ? to_text(got) : "broken off: " + to_text(got);
  }
}

std::string Client::answers(int count) {
  std::string all;
  for (int i = 0; i < count; ++i) {
    const std::string next = answer();
    if (i > 0) all += ", ";
    all += next;
    if (next.empty() || next[0] < '0' || next[0] > '9') break;
  }
  return all;
}

std::string Client::ask(std::string_view request) {
  send(request);  // where that fails the answer says why
  return answer();
}

bool Client::has(std::string_view field_line) const {
  return head_.find("\r\n" + std::string(field_line) + "\r\n") != std::string::npos;
}

std::string Client::end() {
  const Got got = received_.empty() ? receive_more() : Got::kBytes;
  return to_text(got);
}

bool Client::quiet_for(std::chrono::milliseconds time) {
  return received_.empty() && receive_more(time) == Got::kNothing;
}

bool Client::skip(std::size_t bytes) {
  while (bytes > received_.size()) {
    bytes -= received_.size();
    received_.clear();
    if (receive_more() != Got::kBytes) return false;
  }
  received_.erase(0, bytes);
  return true;
}

std::string Client::read_some(std::size_t most) {
  std::string bytes(most, '\0');
  const ssize_t got = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

void Client::shut_down() { ::shutdown(fd_, SHUT_WR); }

void Client::reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

void Client::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void Client::receive_buffer(int bytes) {
  setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

Client::Got Client::receive_more(std::chrono::milliseconds patience) {
  if (fd_ < 0) return Got::kReset;
  pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
  if (::poll(&readable, 1, static_cast<int>(patience.count())) == 0) return Got::kNothing;
  std::array<char, 64 * 1024> buffer;
  const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
  if (got < 0) return Got::kReset;
  if (got == 0) return Got::kEnd;
  received_.append(buffer.data(), static_cast<std::size_t>(got));
  return Got::kBytes;
}

std::string Client::to_text(Got got) {
  switch (got) {
    case Got::kBytes:
      return "bytes";
    case Got::kEnd:
      return "closed";
    case Got::kReset:
      return "reset";
    case Got::kNothing:
      return "nothing came";
  }
  return {};
}

bool eventually(const std::function<bool()>& holds) {
  const auto until = Clock::now() + kPatience;
  while (!holds()) {
    if (Clock::now() > until) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

}  // namespace leantea::test

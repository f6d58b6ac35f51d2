#include "client.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "failure.hpp"
#include "interrupt.hpp"
#include "text.hpp"

namespace leantea::lab {
namespace {

constexpr std::chrono::seconds kPatience{30};

[[noreturn]] void fail(std::string_view what) {
  throw Failure(fmt::format("client: {}: {}", what, std::strerror(errno)));
}

sockaddr_in loopback(int host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl((127U << 24) | static_cast<std::uint32_t>(host));
  return address;
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return result;
}

/// Reads status line and fields of `head`, which ends with an empty line.
Answer parse_head(std::string_view head) {
  Answer answer;
  if (!head.starts_with("HTTP/1."))
    throw Failure(fmt::format("client: not an HTTP/1 answer: {}", head.substr(0, 60)));
  answer.status = number_or<int>(head.substr(std::min<std::size_t>(9, head.size())), 0);
  for (const std::string_view line : split(head, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.starts_with("HTTP/")) continue;
    answer.fields.emplace_back(lower(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  }
  return answer;
}

}  // namespace

std::optional<std::string_view> Answer::field(std::string_view name) const {
  const auto found = std::ranges::find(fields, name, &std::pair<std::string, std::string>::first);
  return found == fields.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

Client::Client(std::uint16_t port, int host)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  if (!socket_.valid()) fail("socket");
  const int on = 1;
  ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const timeval patience{.tv_sec = kPatience.count(), .tv_usec = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (host != 1) {
    // Each source address has its own ports: more connections to one server than one address has ports.
    ::setsockopt(socket_.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    sockaddr_in source = loopback(host, 0);
    if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&source), sizeof source) != 0)
      fail("bind");
  }
  sockaddr_in server = loopback(1, port);
  if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&server), sizeof server) != 0)
    fail("connect");
}

void Client::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) fail("send");
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

Answer Client::receive() {
  std::size_t end = 0;
  while ((end = received_.find("\r\n\r\n")) == std::string::npos) more();
  const std::size_t head_bytes = end + 4;
  Answer answer = parse_head(std::string_view(received_).substr(0, head_bytes));
  const auto length = answer.field("content-length");
  if (!length) throw Failure("client: an answer without Content-Length");
  answer.bytes = head_bytes + number_or<std::size_t>(*length, 0);
  while (received_.size() < answer.bytes) more();
  answer.content = received_.substr(head_bytes, answer.bytes - head_bytes);
  received_.erase(0, answer.bytes);
  return answer;
}

void Client::receive_counted(std::size_t answers, std::size_t bytes) {
  while (received_.size() < answers * bytes) more();
  for (std::size_t i = 0; i < answers; ++i) {
    constexpr std::string_view kOk = " 200 ";
    if (received_.compare(i * bytes + 8, kOk.size(), kOk) != 0) {
      throw Failure(fmt::format("client: an answer is not as the first one was: {}",
                                received_.substr(i * bytes, bytes)));
    }
  }
  received_.erase(0, answers * bytes);
}

void Client::more() {
  if (!wait_readable(socket_.get(), Clock::now() + kPatience))
    throw Failure("client: no answer within 30 s");
  std::array<char, 16384> block{};
  const ssize_t got = ::recv(socket_.get(), block.data(), block.size(), 0);
  if (got < 0) fail("receive");
  if (got == 0) throw Failure("client: the server closed the connection before it answered");
  received_.append(block.data(), static_cast<std::size_t>(got));
}

std::string ab_request(std::string_view path, std::uint16_t port,
                       const std::optional<std::string>& content) {
  std::string of_content;
  if (content) {
    of_content = fmt::format("Content-length: {}\r\nContent-type: application/octet-stream\r\n",
                             content->size());
  }
  return fmt::format(
      "{} {} HTTP/1.0\r\nConnection: Keep-Alive\r\n{}Host: 127.0.0.1:{}\r\nUser-Agent: "
      "ApacheBench/2.3\r\nAccept: */*\r\n\r\n{}",
      content ? "POST" : "GET", path, of_content, port, content.value_or(""));
}

std::string wrk_request(std::string_view path, std::uint16_t port) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", path, port);
}

}  // namespace leantea::lab

// What the two floors (floor.cpp, floor_uring.cpp) share: their flags, their constant answer, and the least of HTTP
// that they have to see. One thread.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace leantea::lab::floor_server {

constexpr std::string_view kTerminator = "\r\n\r\n";
constexpr std::size_t kAnswersPerBlock = 64;  // answers to one pipelined batch leave in one send
constexpr std::size_t kFillerBytes = 1024 * 1024;  // of an echo's content in one send
constexpr int kBacklog = 4096;
constexpr std::size_t kMaxHeadBytes = 64 * 1024;

struct Settings {
  std::uint16_t port = 0;
  bool pipeline_aware = false;
  bool keep_alive = false;
  bool body = false;
  bool close = false;
  std::size_t content_bytes = 2;
};

/// What --pipeline-aware and --body remember of a connection. Indexed by descriptor.
struct Connection {
  std::string before;            // the last three bytes received (--pipeline-aware)
  std::string head;              // an incomplete head (--body)
  std::uint64_t content = 0;     // length of the request's content (--body)
  std::uint64_t to_receive = 0;  // of it not yet received
  std::uint64_t to_send = 0;     // bytes of the answer's content not yet sent
  std::string head_to_send;      // rest of the answer's head
  bool reading_body = false;
};

[[noreturn]] inline void fail(const char* what, int error) {
  std::fprintf(stderr, "floor: %s: %s\n", what, std::strerror(error));
  std::exit(1);
}

[[noreturn]] inline void fail(const char* what) { fail(what, errno); }

[[noreturn]] inline void refuse(std::string_view word) {
  std::fprintf(
      stderr,
      "floor: cannot use '%.*s': the flags are --port N, --pipeline-aware, --keep-alive, --body, "
      "--close, --content-bytes N\n",
      static_cast<int>(word.size()), word.data());
  std::exit(2);
}

template <typename Number>
Number number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) refuse(text);
  return value;
}

inline Settings settings_from(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool has_value = i + 1 < argc;
    if (word == "--port" && has_value) {
      settings.port = number<std::uint16_t>(argv[++i]);
    } else if (word == "--content-bytes" && has_value) {
      settings.content_bytes = number<std::size_t>(argv[++i]);
    } else if (word == "--pipeline-aware") {
      settings.pipeline_aware = true;
    } else if (word == "--keep-alive") {
      settings.keep_alive = true;
    } else if (word == "--body") {
      settings.body = true;
    } else if (word == "--close") {
      settings.close = true;
    } else {
      refuse(word);
    }
  }
  return settings;
}

/// `lower` is a letter of a field name in lower case.
inline bool same_letter(char c, char lower) {
  return c == lower || (c >= 'A' && c <= 'Z' && c + 32 == lower);
}

/// The fields are those of an ordinary server's answer, so the answer has an ordinary size.
inline std::string head_of_answer(const char* type, std::uint64_t content_bytes,
                                  const Settings& settings) {
  std::string head = "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: ";
  head += type;
  head += "\r\nContent-Length: " + std::to_string(content_bytes) + "\r\n";
  if (settings.close) head += "Connection: close\r\n";
  if (settings.keep_alive) head += "Connection: keep-alive\r\n";
  return head + "\r\n";
}

inline std::string whole_answer(const Settings& settings) {
  std::string content(settings.content_bytes, 'O');
  if (content.size() == 2) content = "OK";
  return head_of_answer("text/plain", content.size(), settings) + content;
}

/// Complete heads that end in `bytes`: occurrences of CR LF CR LF.
inline std::size_t count_heads(std::string_view bytes) {
  std::size_t heads = 0;
  for (std::size_t i = 3; i < bytes.size(); ++i) {
    if (bytes[i] == '\n' && bytes[i - 1] == '\r' && bytes[i - 2] == '\n' && bytes[i - 3] == '\r')
      ++heads;
  }
  return heads;
}

/// The heads that end where `before`, the last three bytes received earlier, meets `bytes`; `before` is then
/// brought up to date. Neither side alone is long enough here to hold a terminator.
inline std::size_t count_heads_across(std::string& before, std::string_view bytes) {
  constexpr std::size_t kKept = kTerminator.size() - 1;
  before += bytes.substr(0, kKept);
  const std::size_t heads = count_heads(before);
  if (bytes.size() >= kKept) before = bytes.substr(bytes.size() - kKept);
  if (before.size() > kKept) before.erase(0, before.size() - kKept);
  return heads;
}

/// A descriptor that is readable when SIGTERM or SIGINT has come. It costs nothing while they do not.
inline int end_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  const int fd = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) fail("signalfd");
  return fd;
}

/// A socket that listens on 127.0.0.1; its address is printed.
inline int listen_on(std::uint16_t port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (listener < 0) fail("socket");
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // accepted sockets inherit it
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener, generic, sizeof address) != 0) fail("bind");
  if (::listen(listener, kBacklog) != 0) fail("listen");
  socklen_t length = sizeof address;
  if (::getsockname(listener, generic, &length) != 0) fail("getsockname");
  std::printf("floor listening on http://127.0.0.1:%u\n",
              static_cast<unsigned>(ntohs(address.sin_port)));
  std::fflush(stdout);
  return listener;
}

// ---- --body ----

inline void start_body(Connection& c, std::string_view head) {
  constexpr std::string_view kName = "content-length:";
  c.content = 0;
  for (std::size_t line = head.find('\n'); line != std::string_view::npos;
       line = head.find('\n', line + 1)) {
    std::string_view field = head.substr(line + 1);
    if (!std::ranges::equal(field.substr(0, kName.size()), kName, same_letter)) continue;
    field.remove_prefix(kName.size());
    while (!field.empty() && field.front() == ' ') field.remove_prefix(1);
    std::from_chars(field.data(), field.data() + field.size(), c.content);
    break;
  }
  c.to_receive = c.content;
  c.reading_body = true;
}

/// Takes a head from the front of `bytes`. False when it is not complete; what there is of it is kept then.
inline bool take_head(Connection& c, std::string_view& bytes) {
  if (c.head.empty()) {
    const std::size_t end = bytes.find(kTerminator);
    if (end != std::string_view::npos) {  // the usual case: nothing to copy
      start_body(c, bytes.substr(0, end + kTerminator.size()));
      bytes.remove_prefix(end + kTerminator.size());
      return true;
    }
  }
  const std::size_t before = c.head.size();
  c.head += bytes;
  const std::size_t end = c.head.find(kTerminator, before < 3 ? 0 : before - 3);
  if (end == std::string::npos) return false;
  bytes.remove_prefix(end + kTerminator.size() - before);
  const std::string head = c.head.substr(0, end + kTerminator.size());
  c.head.clear();
  start_body(c, head);
  return true;
}

/// What an echo does with `bytes` that came: heads are read, content is counted, and what is owed grows. False when
/// a head is longer than any client here sends.
inline bool receive_echo(Connection& c, std::string_view bytes, const Settings& settings) {
  while (!bytes.empty()) {
    if (!c.reading_body && !take_head(c, bytes)) break;
    const std::uint64_t taken = std::min<std::uint64_t>(bytes.size(), c.to_receive);
    bytes.remove_prefix(static_cast<std::size_t>(taken));
    c.to_receive -= taken;
    if (c.to_receive > 0) break;
    c.reading_body = false;
    if (c.to_send > 0) {  // pipelined: what the earlier answer still owes goes first
      c.head_to_send.append(static_cast<std::size_t>(c.to_send), 'x');
      c.to_send = 0;
    }
    c.head_to_send += head_of_answer("application/octet-stream", c.content, settings);
    c.to_send += c.content;
  }
  return c.head.size() <= kMaxHeadBytes;
}

inline bool owes(const Connection& c) { return c.to_send > 0 || !c.head_to_send.empty(); }

/// The next bytes that an echo owes; `filler` is what its content is made of.
inline std::array<iovec, 2> next_of_echo(Connection& c, std::vector<char>& filler) {
  const auto content = static_cast<std::size_t>(std::min<std::uint64_t>(c.to_send, filler.size()));
  return {iovec{c.head_to_send.data(), c.head_to_send.size()}, iovec{filler.data(), content}};
}

inline void sent_of_echo(Connection& c, std::size_t sent) {
  const std::size_t of_head = std::min(sent, c.head_to_send.size());
  c.head_to_send.erase(0, of_head);
  c.to_send -= sent - of_head;
}

}  // namespace leantea::lab::floor_server

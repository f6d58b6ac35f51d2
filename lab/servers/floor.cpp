// The floor: the least a server can do for a request. It receives, counts complete heads (CR LF CR LF), and
// sends a constant answer for each. It validates nothing, parses nothing and keeps no time, so it is not an
// HTTP server: it is the physical limit against which servers are measured. One thread, one epoll loop,
// loopback only.
//
//   floor [--port N] [--pipeline-aware] [--keep-alive] [--body] [--close] [--content-bytes N]
//
//   --port N            listens on 127.0.0.1:N; 0 (the default) picks a free port. The address is printed on stdout.
//   --pipeline-aware    remembers a CR LF CR LF that is cut in two by a batch of pipelined requests. Without it there
//                       is no state per connection at all.
//   --keep-alive        says `Connection: keep-alive`, without which an HTTP/1.0 client (ab) waits for the close.
//   --body              the floor for an echo: takes the content named by Content-Length and answers as many bytes.
//   --close             the floor for a new connection per request: closes after the answer.
//   --content-bytes N   content of the constant answer (2 by default, the size of `OK`).
//
// SIGTERM and SIGINT end it with exit code 0.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

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

namespace {

constexpr std::string_view kTerminator = "\r\n\r\n";
constexpr std::size_t kReceiveBytes = 64 * 1024;
constexpr std::size_t kBodyReceiveBytes =
    1024 * 1024;                              // a large buffer: fewer calls for a large body
constexpr std::size_t kAnswersPerBlock = 64;  // answers to one pipelined batch leave in one send
constexpr int kBacklog = 4096;
constexpr int kEventsPerTurn = 512;
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
  bool wants_write = false;
};

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "floor: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

[[noreturn]] void refuse(std::string_view word) {
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

Settings settings_from(int argc, char** argv) {
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
bool same_letter(char c, char lower) {
  return c == lower || (c >= 'A' && c <= 'Z' && c + 32 == lower);
}

/// The fields are those of an ordinary server's answer, so the answer has an ordinary size.
std::string head_of_answer(const char* type, std::uint64_t content_bytes,
                           const Settings& settings) {
  std::string head = "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: ";
  head += type;
  head += "\r\nContent-Length: " + std::to_string(content_bytes) + "\r\n";
  if (settings.close) head += "Connection: close\r\n";
  if (settings.keep_alive) head += "Connection: keep-alive\r\n";
  return head + "\r\n";
}

std::string whole_answer(const Settings& settings) {
  std::string content(settings.content_bytes, 'O');
  if (content.size() == 2) content = "OK";
  return head_of_answer("text/plain", content.size(), settings) + content;
}

/// Complete heads that end in `bytes`: occurrences of CR LF CR LF.
std::size_t count_heads(std::string_view bytes) {
  std::size_t heads = 0;
  for (std::size_t i = 3; i < bytes.size(); ++i) {
    if (bytes[i] == '\n' && bytes[i - 1] == '\r' && bytes[i - 2] == '\n' && bytes[i - 3] == '\r')
      ++heads;
  }
  return heads;
}

/// The heads that end where `before`, the last three bytes received earlier, meets `bytes`; `before` is then
/// brought up to date. Neither side alone is long enough here to hold a terminator.
std::size_t count_heads_across(std::string& before, std::string_view bytes) {
  constexpr std::size_t kKept = kTerminator.size() - 1;
  before += bytes.substr(0, kKept);
  const std::size_t heads = count_heads(before);
  if (bytes.size() >= kKept) before = bytes.substr(bytes.size() - kKept);
  if (before.size() > kKept) before.erase(0, before.size() - kKept);
  return heads;
}

/// A descriptor that is readable when SIGTERM or SIGINT has come. It costs nothing while they do not.
int end_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  const int fd = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) fail("signalfd");
  return fd;
}

class Floor {
 public:
  explicit Floor(const Settings& settings)
      : settings_(settings),
        answer_(whole_answer(settings)),
        buffer_(settings.body ? kBodyReceiveBytes : kReceiveBytes) {
    for (std::size_t i = 0; i < kAnswersPerBlock; ++i) block_ += answer_;
    if (settings.body) filler_.assign(kBodyReceiveBytes, 'x');
  }

  void listen() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener_ < 0) fail("socket");
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    ::setsockopt(listener_, IPPROTO_TCP, TCP_NODELAY, &on,
                 sizeof on);  // accepted sockets inherit it
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(settings_.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, generic, sizeof address) != 0) fail("bind");
    if (::listen(listener_, kBacklog) != 0) fail("listen");
    socklen_t length = sizeof address;
    if (::getsockname(listener_, generic, &length) != 0) fail("getsockname");
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) fail("epoll_create1");
    watch(listener_, EPOLLIN, EPOLL_CTL_ADD);
    watch(signals_, EPOLLIN, EPOLL_CTL_ADD);
    std::printf("floor listening on http://127.0.0.1:%u\n",
                static_cast<unsigned>(ntohs(address.sin_port)));
    std::fflush(stdout);
  }

  void run() {
    std::array<epoll_event, kEventsPerTurn> events{};
    for (;;) {
      const int ready = ::epoll_wait(epoll_, events.data(), kEventsPerTurn, -1);
      for (int i = 0; i < ready; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.fd == listener_) {
          accept_all();
        } else if (event.data.fd == signals_) {
          return;
        } else if (settings_.body) {
          serve_echo(event.data.fd);
        } else {
          serve(event.data.fd);
        }
      }
    }
  }

 private:
  void watch(int fd, std::uint32_t what, int operation) const {
    epoll_event event{};
    event.events = what;
    event.data.fd = fd;
    if (::epoll_ctl(epoll_, operation, fd, &event) != 0) fail("epoll_ctl");
  }

  void accept_all() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      if (settings_.pipeline_aware || settings_.body) remember(fd);
      watch(fd, EPOLLIN, EPOLL_CTL_ADD);
    }
  }

  void remember(int fd) {
    const auto slot = static_cast<std::size_t>(fd);
    if (slot >= connections_.size()) connections_.resize(slot + 1);
    connections_[slot] = Connection{};
  }

  void serve(int fd) {
    const ssize_t received = ::recv(fd, buffer_.data(), buffer_.size(), 0);
    if (received <= 0) {
      if (received == 0 || errno != EAGAIN) ::close(fd);
      return;
    }
    const std::string_view bytes{buffer_.data(), static_cast<std::size_t>(received)};
    std::size_t heads = count_heads(bytes);
    if (settings_.pipeline_aware) {
      heads += count_heads_across(connections_[static_cast<std::size_t>(fd)].before, bytes);
    }
    while (heads > 0) {
      const std::size_t now = std::min(heads, kAnswersPerBlock);
      const std::size_t size = now * answer_.size();
      // A peer that does not read its answers is let go: waiting for it would be work that is not counted here.
      if (::send(fd, block_.data(), size, MSG_NOSIGNAL) != static_cast<ssize_t>(size)) {
        ::close(fd);
        return;
      }
      heads -= now;
      if (settings_.close) {
        ::close(fd);
        return;
      }
    }
  }

  // ---- --body ----

  void serve_echo(int fd) {
    Connection& c = connections_[static_cast<std::size_t>(fd)];
    if (c.to_send > 0 || !c.head_to_send.empty()) {
      if (!send_echo(fd, c)) return;
    }
    const ssize_t received = ::recv(fd, buffer_.data(), buffer_.size(), 0);
    if (received <= 0) {
      if (received == 0 || errno != EAGAIN) ::close(fd);
      return;
    }
    std::string_view bytes{buffer_.data(), static_cast<std::size_t>(received)};
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
      c.head_to_send += head_of_answer("application/octet-stream", c.content, settings_);
      c.to_send += c.content;
    }
    if (c.head.size() > kMaxHeadBytes) {
      ::close(fd);
      return;
    }
    send_echo(fd, c);
  }

  /// Takes a head from the front of `bytes`. False when it is not complete; what there is of it is kept then.
  static bool take_head(Connection& c, std::string_view& bytes) {
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

  static void start_body(Connection& c, std::string_view head) {
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

  /// Sends what is owed. False when the kernel takes no more for now, or the connection is gone.
  bool send_echo(int fd, Connection& c) {
    while (c.to_send > 0 || !c.head_to_send.empty()) {
      std::array<iovec, 2> parts{
          iovec{c.head_to_send.data(), c.head_to_send.size()},
          iovec{filler_.data(),
                static_cast<std::size_t>(std::min<std::uint64_t>(c.to_send, filler_.size()))}};
      msghdr message{};
      message.msg_iov = parts.data();
      message.msg_iovlen = parts.size();
      const ssize_t sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
      if (sent < 0) {
        if (errno != EAGAIN) {
          ::close(fd);
          return false;
        }
        if (!c.wants_write) watch(fd, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
        c.wants_write = true;
        return false;
      }
      const std::size_t of_head = std::min(static_cast<std::size_t>(sent), c.head_to_send.size());
      c.head_to_send.erase(0, of_head);
      c.to_send -= static_cast<std::size_t>(sent) - of_head;
    }
    if (c.wants_write) watch(fd, EPOLLIN, EPOLL_CTL_MOD);
    c.wants_write = false;
    return true;
  }

  const Settings settings_;
  const std::string answer_;
  std::string block_;
  std::string filler_;
  std::vector<char> buffer_;
  std::vector<Connection> connections_;
  int listener_ = -1;
  int epoll_ = -1;
  const int signals_ = end_signals();
};

}  // namespace

int main(int argc, char** argv) {
  Floor floor(settings_from(argc, argv));
  floor.listen();
  floor.run();
  return 0;
}

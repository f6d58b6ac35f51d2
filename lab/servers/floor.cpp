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

#include "floor.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

using namespace leantea::lab::floor_server;

constexpr std::size_t kReceiveBytes = 64 * 1024;
constexpr std::size_t kBodyReceiveBytes = 1024 * 1024;  // fewer calls for a large body
constexpr int kEventsPerTurn = 512;

struct EchoConnection : Connection {
  bool wants_write = false;
};

class Floor {
 public:
  explicit Floor(const Settings& settings)
      : settings_(settings),
        answer_(whole_answer(settings)),
        buffer_(settings.body ? kBodyReceiveBytes : kReceiveBytes) {
    for (std::size_t i = 0; i < kAnswersPerBlock; ++i) block_ += answer_;
    if (settings.body) filler_.assign(kFillerBytes, 'x');
  }

  void listen() {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (epoll_ < 0) fail("epoll_create1");
    listener_ = listen_on(settings_.port);
    watch(listener_, EPOLLIN, EPOLL_CTL_ADD);
    watch(signals_, EPOLLIN, EPOLL_CTL_ADD);
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
    connections_[slot] = {};
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
    EchoConnection& c = connections_[static_cast<std::size_t>(fd)];
    if (owes(c) && !send_echo(fd, c)) return;
    const ssize_t received = ::recv(fd, buffer_.data(), buffer_.size(), 0);
    if (received <= 0) {
      if (received == 0 || errno != EAGAIN) ::close(fd);
      return;
    }
    if (receive_echo(c, {buffer_.data(), static_cast<std::size_t>(received)}, settings_)) {
      send_echo(fd, c);
    } else {
      ::close(fd);
    }
  }

  /// Sends what is owed. False when the kernel takes no more for now, or the connection is gone.
  bool send_echo(int fd, EchoConnection& c) {
    while (owes(c)) {
      std::array<iovec, 2> parts = next_of_echo(c, filler_);
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
      sent_of_echo(c, static_cast<std::size_t>(sent));
    }
    if (c.wants_write) watch(fd, EPOLLIN, EPOLL_CTL_MOD);
    c.wants_write = false;
    return true;
  }

  const Settings settings_;
  const std::string answer_;
  std::string block_;
  std::vector<char> filler_;
  std::vector<char> buffer_;
  std::vector<EchoConnection> connections_;
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

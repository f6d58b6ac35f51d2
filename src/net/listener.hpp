// Listener: one listening socket, and how addresses become listeners.
//
// Values, move-only; used from one thread at a time. Errors are sentences that say what to do.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leantea::net {

/// A file descriptor that is closed at the end of its life.
class Fd {
 public:
  Fd() noexcept = default;
  explicit Fd(int fd) noexcept : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { close(); }
  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  void close() noexcept;

 private:
  int fd_ = -1;
};

struct ListenOptions {
  int backlog = 4096;
  bool tcp_nodelay = true;
  /// Seconds the kernel may hold a connection back until its first byte (TCP_DEFER_ACCEPT); 0: off.
  int defer_accept_seconds = 0;
  /// With several loops: one socket per loop on the same port (SO_REUSEPORT).
  bool reuse_port = false;
};

class Listener {
 public:
  Listener(Fd fd, std::string address, bool tcp, bool tcp_nodelay) noexcept
      : fd_(std::move(fd)), address_(std::move(address)), tcp_(tcp), tcp_nodelay_(tcp_nodelay) {}

  int fd() const noexcept { return fd_.get(); }
  /// As it is printed: "127.0.0.1:8080", "[::1]:8080", "unix:/run/app.sock".
  const std::string& address() const noexcept { return address_; }
  bool tcp() const noexcept { return tcp_; }
  bool tcp_nodelay() const noexcept { return tcp_nodelay_; }
  /// The port it got, 0 for Unix sockets.
  std::uint16_t port() const noexcept;
  void close() noexcept { fd_.close(); }

 private:
  Fd fd_;
  std::string address_;
  bool tcp_ = false;
  bool tcp_nodelay_ = false;
};

/// Opens `loops` sets of listeners for `addresses`. An address is "host:port", "[v6]:port", ":port"
/// (all interfaces, dual-stack), "unix:/path" (a stale socket file is replaced, a live one is an
/// error) or "systemd" (the sockets inherited through LISTEN_FDS). Port 0 takes a free one, the same
/// in every set. Unix and inherited sockets are shared by the sets (duplicated descriptors).
std::expected<std::vector<std::vector<Listener>>, std::string> open_listeners(
    const std::vector<std::string>& addresses, unsigned loops, const ListenOptions& options);

}  // namespace leantea::net

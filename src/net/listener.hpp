// Listener: one listening socket, and how addresses become listeners.
//
// Values, move-only; used from one thread at a time. Errors are sentences that say what to do.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
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
  /// Connections that may wait to be accepted; the kernel caps it (net.core.somaxconn).
  int backlog = 4096;
  bool tcp_nodelay = true;
  /// Seconds the kernel may hold a connection back until its first byte (TCP_DEFER_ACCEPT); 0: off.
  int defer_accept_seconds = 0;
  /// With several loops: one socket per loop on the same port (SO_REUSEPORT). False: one socket for
  /// all, with duplicated descriptors.
  bool reuse_port = false;
};

/// The file of a Unix socket that this process made. Removes it once, when asked or at the end, and
/// only while it is still the same file: a successor may have put its own in its place.
class UnixSocketFile;

class Listener {
 public:
  /// What sets a listener apart from a plain TCP socket of its own.
  struct Nature {
    /// Other listeners are duplicates of the same socket: a new connection should wake one of them.
    bool shared = false;
    /// The socket came from outside (systemd) and lives on there: nothing lasting is done to it.
    bool inherited = false;
    std::shared_ptr<UnixSocketFile> file{};
  };

  Listener(Fd fd, std::string address, bool tcp, bool tcp_nodelay) noexcept
      : Listener(std::move(fd), std::move(address), tcp, tcp_nodelay, Nature{}) {}
  Listener(Fd fd, std::string address, bool tcp, bool tcp_nodelay, Nature nature) noexcept
      : fd_(std::move(fd)),
        address_(std::move(address)),
        tcp_(tcp),
        tcp_nodelay_(tcp_nodelay),
        nature_(std::move(nature)) {}

  int fd() const noexcept { return fd_.get(); }
  /// As it is printed: "127.0.0.1:8080", "[::1]:8080", "unix:/run/app.sock".
  const std::string& address() const noexcept { return address_; }
  bool tcp() const noexcept { return tcp_; }
  bool tcp_nodelay() const noexcept { return tcp_nodelay_; }
  bool shared() const noexcept { return nature_.shared; }
  bool inherited() const noexcept { return nature_.inherited; }
  /// The port it got, 0 for Unix sockets.
  std::uint16_t port() const noexcept;

  /// First step of closing without losing anyone: from now on no new client reaches the listen queue,
  /// while those who are in it, or whose handshake has begun, can still be accepted. TCP: new SYNs
  /// are dropped (the client's kernel tries again, and finds a successor or nobody). Unix: the file
  /// goes away. Then: accept until there is nothing more, for at least kHandshakeGraceMs, and close.
  void stop_handshakes() noexcept;
  /// How long a handshake that has begun may take to complete after stop_handshakes(). A client on
  /// the same machine or in the same building needs well under a millisecond; this is paid at every
  /// shutdown.
  static constexpr int kHandshakeGraceMs = 20;

  /// Closes the socket; the last of the shared ones removes the file of a Unix socket.
  void close() noexcept;

 private:
  Fd fd_;
  std::string address_;
  bool tcp_ = false;
  bool tcp_nodelay_ = false;
  Nature nature_{};
};

/// Opens `loops` sets of listeners for `addresses`. An address is
///   "host:port"    a name or an IPv4 address; a name listens on all of its addresses
///   "[v6]:port"    IPv6 only
///   ":port"        all interfaces, IPv6 and IPv4
///   "unix:/path"   a Unix socket: a stale file is replaced, a live one is an error ("unix:@name" for
///                  Linux's abstract names)
///   "systemd"      the sockets inherited through LISTEN_FDS, all of them; taken once per process
/// Port 0 takes a free one, the same in every set. Unix and inherited sockets are shared by the sets
/// (duplicated descriptors). REQUIRES: loops >= 1.
std::expected<std::vector<std::vector<Listener>>, std::string> open_listeners(
    const std::vector<std::string>& addresses, unsigned loops, const ListenOptions& options);

}  // namespace leantea::net

#include "net/listener.hpp"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/filter.h>
#endif

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/assert.hpp"
#include "net/socket.hpp"

namespace leantea::net {

void Fd::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

class UnixSocketFile {
 public:
  UnixSocketFile(std::string path, const struct stat& file)
      : path_(std::move(path)), device_(file.st_dev), inode_(file.st_ino) {}
  ~UnixSocketFile() { remove(); }
  UnixSocketFile(const UnixSocketFile&) = delete;
  UnixSocketFile& operator=(const UnixSocketFile&) = delete;

  /// Any thread: the listeners of several loops share one file.
  void remove() noexcept {
    const std::lock_guard lock(mutex_);
    if (std::exchange(removed_, true)) return;
    struct stat now{};
    if (lstat(path_.c_str(), &now) != 0) return;
    if (now.st_dev == device_ && now.st_ino == inode_) unlink(path_.c_str());
  }

 private:
  const std::string path_;
  const dev_t device_;
  const ino_t inode_;
  std::mutex mutex_;
  bool removed_ = false;  // guarded by mutex_
};

namespace {

using Problem = std::unexpected<std::string>;

/// A socket address with room for every family.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  sockaddr* get() noexcept { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const noexcept { return storage.ss_family; }
};

/// Where one listener (per loop) is to be: one entry of the user's list, or one address of a name.
struct Endpoint {
  SocketAddress address;
  bool v6_only = true;
  std::string text;  ///< what the user wrote, for messages
};

std::uint16_t port_of(const SocketAddress& address) noexcept {
  if (address.family() == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
  }
  if (address.family() == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address.storage)->sin6_port);
  }
  return 0;
}

void set_port(SocketAddress& address, std::uint16_t port) noexcept {
  if (address.family() == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port = htons(port);
  } else if (address.family() == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_port = htons(port);
  }
}

SocketAddress ipv4(in_addr host, std::uint16_t port) noexcept {
  SocketAddress address;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&address.storage);
  v4->sin_family = AF_INET;
  v4->sin_addr = host;
  v4->sin_port = htons(port);
  address.length = sizeof *v4;
  return address;
}

SocketAddress ipv6(const in6_addr& host, std::uint16_t port, std::uint32_t scope) noexcept {
  SocketAddress address;
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&address.storage);
  v6->sin6_family = AF_INET6;
  v6->sin6_addr = host;
  v6->sin6_port = htons(port);
  v6->sin6_scope_id = scope;
  address.length = sizeof *v6;
  return address;
}

std::expected<SocketAddress, int> local_address(int fd) noexcept {
  SocketAddress address;
  address.length = sizeof address.storage;
  if (getsockname(fd, address.get(), &address.length) != 0) return std::unexpected(errno);
  return address;
}

// ---- What can go wrong, in words ----

/// Turns an errno of socket(), bind() or listen() into what the user can do about it.
std::string listen_problem(int code, const Endpoint& at) {
  const std::string port = std::to_string(port_of(at.address));
  const std::string where = "cannot listen on " + at.text + ": ";
  switch (code) {
    case EADDRINUSE:
      return where + "port " + port +
             " is in use: choose another with --port, or stop the process that has it";
    case EACCES:
      return where + "port " + port +
             " needs privileges: choose a port above 1023 with --port, or allow this one (setcap "
             "cap_net_bind_service=+ep on the program)";
    case EADDRNOTAVAIL:
      return where +
             "this machine has no such address: choose one of its own (`ip address` lists "
             "them), or 0.0.0.0 for all";
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT:
      return where + "this system does not support that kind of address: choose an IPv4 address, " +
             "such as 127.0.0.1";
    case EMFILE:
      return where + "this process may open no more files: raise its limit (ulimit -n)";
    case ENFILE:
      return where + "the system may open no more files: raise fs.file-max";
    case ENOBUFS:
    case ENOMEM:
      return where + "the system has no memory for another socket";
    default:
      return where + error_text(code);  // EINVAL, EPERM (seccomp), ENODEV (bad scope)
  }
}

std::string unix_problem(int code, std::string_view path) {
  const std::string where = "cannot listen on unix:" + std::string(path) + ": ";
  switch (code) {
    case EADDRINUSE:
      return where +
             "another process is listening there: stop it, or choose another path for the socket";
    case EEXIST:
      return where + "there is a file of that name that is not a socket: remove it, or choose " +
             "another path for the socket";
    case EPROTOTYPE:
      return where + "there is a socket of another kind of that name: remove it, or choose " +
             "another path for the socket";
    case EACCES:
    case EPERM:
      return where + "no permission: choose a directory that this user may write to";
    case EROFS:
      return where + "the file system is read-only: choose another directory";
    case ENOENT:
    case ENOTDIR:
      return where + "there is no such directory: create it first";
    case ENAMETOOLONG:
      return where + "the path is too long: a Unix socket's may have " +
             std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes";
    default:
      return where + error_text(code);  // ELOOP, EMFILE, ENFILE, ENOBUFS, ENOMEM
  }
}

std::string address_problem(std::string_view text, std::string_view what) {
  return "\"" + std::string(text) + "\" is not an address to listen on: " + std::string(what);
}

// ---- From text to endpoints ----

std::optional<std::uint16_t> parse_port(std::string_view text) noexcept {
  std::uint16_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return port;
}

struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  bool bracketed = false;
};

std::expected<HostPort, std::string> split_host_port(std::string_view text) {
  constexpr std::string_view kForms =
      "write host:port, [IPv6 address]:port, :port, unix:/path or systemd";
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Problem(address_problem(text, kForms));
  std::string_view host = text.substr(0, colon);
  const std::string_view number = text.substr(colon + 1);
  const bool bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!bracketed && host.find_first_of(":[]") != std::string_view::npos) {
    return Problem(address_problem(text, "write an IPv6 address in brackets, as in [::1]:8080"));
  }
  const std::optional<std::uint16_t> port = parse_port(number);
  if (!port) {
    return Problem(address_problem(
        text, "\"" + std::string(number) + "\" is not a port, which is a number from 0 to 65535"));
  }
  return HostPort{.host = std::string(host), .port = *port, .bracketed = bracketed};
}

std::expected<SocketAddress, std::string> parse_ipv6(std::string_view text, const HostPort& at) {
  std::string host = at.host;
  std::uint32_t scope = 0;
  if (const std::size_t percent = host.find('%'); percent != std::string::npos) {
    scope = if_nametoindex(host.c_str() + percent + 1);
    if (scope == 0) {
      return Problem(address_problem(
          text, "there is no network interface \"" + host.substr(percent + 1) + "\""));
    }
    host.resize(percent);
  }
  in6_addr address{};
  if (inet_pton(AF_INET6, host.c_str(), &address) != 1) {
    return Problem(address_problem(text, "\"" + host + "\" is not an IPv6 address"));
  }
  return ipv6(address, at.port, scope);
}

/// All addresses of a name. "localhost" never leaves the machine (RFC 6761 §6.3), and asking no
/// resolver for it saves a server on it half a megabyte of name service libraries.
std::expected<std::vector<SocketAddress>, std::string> resolve(std::string_view text,
                                                               const HostPort& at) {
  if (at.host == "localhost") {
    return std::vector{ipv4({.s_addr = htonl(INADDR_LOOPBACK)}, at.port),
                       ipv6(in6addr_loopback, at.port, 0)};
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(at.host.c_str(), nullptr, &hints, &found); error != 0) {
    return Problem(address_problem(
        text, "the name \"" + at.host + "\" has no address here (" + gai_strerror(error) + ")"));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    if (each->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress address;
    std::memcpy(&address.storage, each->ai_addr, each->ai_addrlen);
    address.length = each->ai_addrlen;
    set_port(address, at.port);
    addresses.push_back(address);
  }
  freeaddrinfo(found);
  return addresses;
}

/// The TCP endpoints of one entry of the user's list: several for a name with several addresses.
std::expected<std::vector<Endpoint>, std::string> parse_tcp(const std::string& text) {
  const auto at = split_host_port(text);
  if (!at) return Problem(at.error());
  if (at->bracketed) {
    const auto address = parse_ipv6(text, *at);
    if (!address) return Problem(address.error());
    return std::vector{Endpoint{.address = *address, .v6_only = true, .text = text}};
  }
  if (at->host.empty() || at->host == "*") {
    return std::vector{
        Endpoint{.address = ipv6(in6addr_any, at->port, 0), .v6_only = false, .text = text}};
  }
  if (in_addr host{}; inet_pton(AF_INET, at->host.c_str(), &host) == 1) {
    return std::vector{Endpoint{.address = ipv4(host, at->port), .v6_only = true, .text = text}};
  }
  const auto addresses = resolve(text, *at);
  if (!addresses) return Problem(addresses.error());
  std::vector<Endpoint> endpoints;
  for (const SocketAddress& address : *addresses) {
    endpoints.push_back({.address = address, .v6_only = true, .text = text});
  }
  return endpoints;
}

// ---- Sockets ----

bool switch_on(int fd, int level, int option) noexcept {
  const int on = 1;
  return setsockopt(fd, level, option, &on, sizeof on) == 0;
}

std::expected<Fd, int> new_socket(int family) noexcept {
#ifdef SOCK_CLOEXEC
  Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
#else
  Fd fd(::socket(family, SOCK_STREAM, 0));
  if (fd) {
    fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
    set_nonblocking(fd.get(), true);
  }
#endif
  if (!fd) return std::unexpected(errno);
  return fd;
}

void set_tcp_options(int fd, const ListenOptions& options) noexcept {
  // Without these a server works, only slower, so a system that refuses them is no error.
  if (options.tcp_nodelay) switch_on(fd, IPPROTO_TCP, TCP_NODELAY);
#ifdef TCP_DEFER_ACCEPT
  if (options.defer_accept_seconds > 0) {
    setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &options.defer_accept_seconds, sizeof(int));
  }
#endif
}

/// Who else may be on the port.
enum class Company : std::uint8_t {
  kNone,           ///< nobody
  kLaterSiblings,  ///< nobody now; the other loops' sockets afterwards
  kSiblings,       ///< the other loops' sockets, which are there already
};

/// A bound socket that listens.
///
/// SO_REUSEPORT lets any process of the same user join a port. To find out all the same when the port
/// is taken, the first socket of a set is bound without it and gets it only then (Linux looks at a
/// socket's flag of the moment).
std::expected<Fd, int> listen_tcp(const SocketAddress& address, bool v6_only, Company company,
                                  const ListenOptions& options) noexcept {
  auto fd = new_socket(address.family());
  if (!fd) return fd;
  const int number = fd->get();
  // A port with connections in TIME_WAIT is free for us: restarting at once must work.
  switch_on(number, SOL_SOCKET, SO_REUSEADDR);
#ifdef __linux__
  const bool joins_before = company == Company::kSiblings;
#else
  const bool joins_before = company != Company::kNone;
#endif
  if (joins_before && !switch_on(number, SOL_SOCKET, SO_REUSEPORT)) return std::unexpected(errno);
  if (address.family() == AF_INET6) {
    const int only = v6_only ? 1 : 0;
    setsockopt(number, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
  }
  if (::bind(number, address.get(), address.length) != 0) return std::unexpected(errno);
  if (company == Company::kLaterSiblings && !switch_on(number, SOL_SOCKET, SO_REUSEPORT)) {
    return std::unexpected(errno);
  }
  set_tcp_options(number, options);
  if (::listen(number, options.backlog) != 0) return std::unexpected(errno);
  return fd;
}

std::expected<Fd, int> duplicate(int fd) noexcept {
  Fd copy(fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy) return std::unexpected(errno);
  return copy;
}

/// One listener per loop on the same socket.
std::expected<std::vector<Listener>, int> share(Listener first, const Listener::Nature& nature,
                                                unsigned loops) {
  std::vector<Listener> set;
  for (unsigned loop = 1; loop < loops; ++loop) {
    auto copy = duplicate(first.fd());
    if (!copy) return std::unexpected(copy.error());
    set.emplace_back(std::move(*copy), first.address(), first.tcp(), first.tcp_nodelay(), nature);
  }
  set.insert(set.begin(), std::move(first));
  return set;
}

/// One listener per loop, each with a socket of its own on the same port.
std::expected<std::vector<Listener>, int> open_tcp(const Endpoint& at, unsigned loops,
                                                   const ListenOptions& options) {
  const bool several = options.reuse_port && loops > 1;
  auto first = listen_tcp(at.address, at.v6_only,
                          several ? Company::kLaterSiblings : Company::kNone, options);
  if (!first) return std::unexpected(first.error());
  // Port 0 has become a number by now; the siblings go to the same one.
  const auto address = local_address(first->get());
  if (!address) return std::unexpected(address.error());
  const std::string text = to_text(address->get(), address->length);
  const Listener::Nature nature{.shared = !several && loops > 1, .inherited = false, .file = {}};
  Listener listener(std::move(*first), text, /*tcp=*/true, options.tcp_nodelay, nature);
  if (!several) return share(std::move(listener), nature, loops);

  std::vector<Listener> set;
  set.push_back(std::move(listener));
  while (set.size() < loops) {
    auto fd = listen_tcp(*address, at.v6_only, Company::kSiblings, options);
    if (!fd) return std::unexpected(fd.error());
    set.emplace_back(std::move(*fd), text, /*tcp=*/true, options.tcp_nodelay);
  }
  return set;
}

bool is_missing_address(int code) noexcept {
  return code == EADDRNOTAVAIL || code == EAFNOSUPPORT || code == EPROTONOSUPPORT;
}

/// The sets of one TCP entry: one for an address, several for a name.
std::expected<std::vector<std::vector<Listener>>, std::string> open_tcp_entry(
    const std::string& text, unsigned loops, const ListenOptions& options) {
  auto endpoints = parse_tcp(text);
  if (!endpoints) return Problem(endpoints.error());
  std::vector<std::vector<Listener>> sets;
  int missing = 0;
  for (Endpoint& at : *endpoints) {
    // A name's addresses share one port, also when it is the kernel that chose it.
    if (!sets.empty() && port_of(at.address) == 0) set_port(at.address, sets[0][0].port());
    auto set = open_tcp(at, loops, options);
    if (!set && !at.v6_only && is_missing_address(set.error())) {
      // ":port" on a system without IPv6.
      at.address = ipv4({.s_addr = htonl(INADDR_ANY)}, port_of(at.address));
      set = open_tcp(at, loops, options);
    }
    if (set) {
      sets.push_back(std::move(*set));
    } else if (endpoints->size() > 1 && is_missing_address(set.error())) {
      missing = set.error();  // "localhost" names ::1 also where there is no IPv6
    } else {
      return Problem(listen_problem(set.error(), at));
    }
  }
  if (sets.empty()) return Problem(listen_problem(missing, endpoints->front()));
  return sets;
}

// ---- Unix sockets ----

std::expected<SocketAddress, int> unix_address(std::string_view path) noexcept {
  SocketAddress address;
  auto* local = reinterpret_cast<sockaddr_un*>(&address.storage);
  if (path.size() >= sizeof local->sun_path) return std::unexpected(ENAMETOOLONG);
  local->sun_family = AF_UNIX;
  std::memcpy(local->sun_path, path.data(), path.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  if (path.starts_with('@')) {
    local->sun_path[0] = '\0';
  } else {
    ++address.length;  // the zero byte at the end
  }
  return address;
}

/// What is in the way at `path`: 0 when it was a socket that nobody listens on, which is gone now.
int clear_stale(const char* path, const SocketAddress& address) noexcept {
  struct stat file{};
  if (lstat(path, &file) != 0) return errno == ENOENT ? 0 : errno;
  if (!S_ISSOCK(file.st_mode)) return EEXIST;
  const auto probe = new_socket(AF_UNIX);
  if (!probe) return probe.error();
  if (::connect(probe->get(), address.get(), address.length) == 0) return EADDRINUSE;
  // EAGAIN: somebody listens and the queue is full. Only a refusal means that nobody is there.
  if (errno != ECONNREFUSED) return errno == EAGAIN ? EADDRINUSE : errno;
  if (unlink(path) != 0 && errno != ENOENT) return errno;
  return 0;
}

std::expected<Fd, int> listen_unix(const std::string& path, const SocketAddress& address,
                                   int backlog) noexcept {
  auto fd = new_socket(AF_UNIX);
  if (!fd) return fd;
  if (::bind(fd->get(), address.get(), address.length) != 0) {
    if (errno != EADDRINUSE || path.starts_with('@')) return std::unexpected(errno);
    if (const int problem = clear_stale(path.c_str(), address); problem != 0) {
      return std::unexpected(problem);
    }
    if (::bind(fd->get(), address.get(), address.length) != 0) return std::unexpected(errno);
  }
  if (::listen(fd->get(), backlog) != 0) return std::unexpected(errno);
  return fd;
}

std::expected<std::vector<Listener>, std::string> open_unix(const std::string& path, unsigned loops,
                                                            const ListenOptions& options) {
  if (path.empty() || path == "@") {
    return Problem(address_problem("unix:" + path, "a path is missing, as in unix:/run/app.sock"));
  }
  const auto address = unix_address(path);
  if (!address) return Problem(unix_problem(address.error(), path));
  auto fd = listen_unix(path, *address, options.backlog);
  if (!fd) return Problem(unix_problem(fd.error(), path));
  Listener::Nature nature{.shared = loops > 1, .inherited = false, .file = {}};
  struct stat file{};
  if (!path.starts_with('@') && lstat(path.c_str(), &file) == 0) {
    nature.file = std::make_shared<UnixSocketFile>(path, file);
  }
  auto set =
      share(Listener(std::move(*fd), "unix:" + path, /*tcp=*/false, false, nature), nature, loops);
  if (!set) return Problem(unix_problem(set.error(), path));
  return std::move(*set);
}

// ---- Inherited sockets (sd_listen_fds(3)) ----

constexpr int kFirstInherited = 3;

std::optional<long> number_from_environment(const char* name) noexcept {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  long value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

bool is_listening_stream(int fd) noexcept {
  int type = 0;
  int listening = 0;
  socklen_t length = sizeof type;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0) return false;
  length = sizeof listening;
  if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0) return false;
  return type == SOCK_STREAM && listening != 0;
}

std::expected<std::vector<Listener>, std::string> adopt(int fd, unsigned loops,
                                                        const ListenOptions& options) {
  const std::string name = "inherited socket " + std::to_string(fd);
  if (fcntl(fd, F_GETFD) < 0) {
    return Problem(name + " is not open: \"systemd\" can be listened on once per process");
  }
  if (!is_listening_stream(fd)) {
    return Problem(name +
                   " is not a listening stream socket: use ListenStream= in the .socket unit");
  }
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  set_nonblocking(fd, true);
  const auto address = local_address(fd);
  if (!address) return Problem(name + ": " + error_text(address.error()));
  const bool tcp = address->family() == AF_INET || address->family() == AF_INET6;
  if (tcp) set_tcp_options(fd, options);
  const Listener::Nature nature{.shared = loops > 1, .inherited = true, .file = {}};
  Listener first(Fd(fd), to_text(address->get(), address->length), tcp, tcp && options.tcp_nodelay,
                 nature);
  auto set = share(std::move(first), nature, loops);
  if (!set) return Problem(name + ": " + error_text(set.error()));
  return std::move(*set);
}

std::expected<std::vector<std::vector<Listener>>, std::string> open_inherited(
    unsigned loops, const ListenOptions& options) {
  const long count = number_from_environment("LISTEN_FDS").value_or(0);
  if (count <= 0 || number_from_environment("LISTEN_PID") != static_cast<long>(getpid())) {
    return Problem(
        "cannot listen on systemd's sockets: there are none for this process (LISTEN_FDS, "
        "LISTEN_PID): start it from a .socket unit, or with systemd-socket-activate -l 8080");
  }
  std::vector<std::vector<Listener>> sets;
  for (long i = 0; i < count; ++i) {
    auto set = adopt(kFirstInherited + static_cast<int>(i), loops, options);
    if (!set) return Problem(set.error());
    sets.push_back(std::move(*set));
  }
  return sets;
}

std::expected<std::vector<std::vector<Listener>>, std::string> open_entry(
    const std::string& address, unsigned loops, const ListenOptions& options) {
  constexpr std::string_view kUnix = "unix:";
  if (address == "systemd") return open_inherited(loops, options);
  if (!address.starts_with(kUnix)) return open_tcp_entry(address, loops, options);
  auto set = open_unix(address.substr(kUnix.size()), loops, options);
  if (!set) return Problem(set.error());
  std::vector<std::vector<Listener>> sets;
  sets.push_back(std::move(*set));
  return sets;
}

}  // namespace

std::uint16_t Listener::port() const noexcept {
  if (!tcp_) return 0;
  const auto address = local_address(fd());
  return address ? port_of(*address) : std::uint16_t{0};
}

void Listener::stop_handshakes() noexcept {
  // An inherited socket outlives us: a filter would stay on it, and its queue goes to the successor.
  if (nature_.inherited) return;
  if (nature_.file) nature_.file->remove();
#ifdef SO_ATTACH_FILTER
  if (!tcp_) return;
  // A classic BPF program on the TCP header: drop what has SYN and not ACK among its flags (byte 13),
  // keep the rest, so that the ACK that completes a handshake and its data still come through.
  constexpr std::uint32_t kFlagsOffset = 13;
  constexpr std::uint32_t kSyn = 0x02;
  constexpr std::uint32_t kAck = 0x10;
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kFlagsOffset),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kSyn | kAck),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kSyn, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
  };
  const sock_fprog filter{.len = sizeof program / sizeof program[0], .filter = program};
  // Where it is refused (a sandbox), closing is as graceful as everywhere else: accept, then close.
  setsockopt(fd(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
#endif
}

void Listener::close() noexcept {
  fd_.close();
  nature_.file.reset();
}

std::expected<std::vector<std::vector<Listener>>, std::string> open_listeners(
    const std::vector<std::string>& addresses, unsigned loops, const ListenOptions& options) {
  LEANTEA_ASSERT(loops >= 1);
  if (addresses.empty()) return Problem("there is no address to listen on: give at least one");
  std::vector<std::vector<Listener>> by_loop(loops);
  for (const std::string& address : addresses) {
    auto sets = open_entry(address, loops, options);
    if (!sets) return Problem(sets.error());
    for (std::vector<Listener>& set : *sets) {
      for (std::size_t loop = 0; loop < loops; ++loop) {
        by_loop[loop].push_back(std::move(set[loop]));
      }
    }
  }
  return by_loop;
}

}  // namespace leantea::net

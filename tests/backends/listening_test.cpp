// Where a server can be reached.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include "backend_test.hpp"

namespace leantea::test {
namespace {

/// A folder for a Unix socket, removed at the end with the socket in it.
class Folder {
 public:
  Folder() { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~Folder() {
    unlink(file().c_str());
    rmdir(path_.c_str());
  }
  std::string file() const { return path_ + "/s"; }
  bool has_file() const { return access(file().c_str(), F_OK) == 0; }

 private:
  std::string path_ = "/tmp/leantea-XXXXXX";
};

bool machine_has_ipv6() {
  const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 loopback{};
  loopback.sin6_family = AF_INET6;
  loopback.sin6_addr = in6addr_loopback;
  const bool has =
      fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&loopback), sizeof loopback) == 0;
  if (fd >= 0) close(fd);
  return has;
}

/// The environment of a socket unit (sd_listen_fds(3)) with one socket, and its descriptor, which must be 3. Puts
/// back what was there.
class SocketUnit {
 public:
  explicit SocketUnit(int socket) : before_(fcntl(kFirst, F_DUPFD_CLOEXEC, kFirst + 1)) {
    EXPECT_EQ(dup2(socket, kFirst), kFirst);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
  }
  ~SocketUnit() {
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_PID");
    if (before_ < 0) return;
    dup2(before_, kFirst);
    close(before_);
  }
  SocketUnit(const SocketUnit&) = delete;
  SocketUnit& operator=(const SocketUnit&) = delete;

 private:
  static constexpr int kFirst = 3;
  int before_;
};

BACKEND_SUITE(Listening);

TEST_P(Listening, OnAUnixSocket) {
  const Folder folder;
  options.addresses = {"unix:" + folder.file()};
  serve();
  Client client(server->addresses().at(0));
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
  EXPECT_EQ(client.ask(post("/echo", std::string(300'000, 'u'))).size(), 300'000 + 4U);
  server->stop();
  EXPECT_FALSE(folder.has_file());
}

TEST_P(Listening, OnAUnixSocketWithSeveralLoops) {
  const Folder folder;
  options.addresses = {"unix:" + folder.file()};
  options.threads = 3;
  serve();
  std::vector<Client> clients;
  for (int i = 0; i < 30; ++i) clients.emplace_back(server->addresses().at(0));
  for (Client& client : clients) EXPECT_EQ(client.ask(get("/health")), "200 OK");
}

TEST_P(Listening, OverAFileThatAServerLeftBehind) {
  const Folder folder;
  const int stale = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder.file().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(stale, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(stale);
  options.addresses = {"unix:" + folder.file()};
  serve();
  EXPECT_EQ(Client(server->addresses().at(0)).ask(get("/health")), "200 OK");
}

TEST_P(Listening, OnBothInternetProtocols) {
  if (!machine_has_ipv6()) GTEST_SKIP() << "this machine has no IPv6";
  options.addresses = {":0"};
  serve();
  const std::string port = std::to_string(server->port());
  EXPECT_EQ(Client("127.0.0.1:" + port).ask(get("/health")), "200 OK");
  EXPECT_EQ(Client("[::1]:" + port).ask(get("/health")), "200 OK");
}

TEST_P(Listening, OnSeveralAddresses) {
  const Folder folder;
  options.addresses = {"127.0.0.1:0", "127.0.0.2:0", "unix:" + folder.file()};
  serve();
  ASSERT_EQ(server->addresses().size(), 3U);
  for (const std::string& address : server->addresses()) {
    EXPECT_EQ(Client(address).ask(get("/health")), "200 OK") << address;
  }
}

TEST_P(Listening, OnAnInheritedSocketThatOutlivesIt) {
  const int outside = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(listen(outside, 16), 0);  // on a port of the kernel's choice
  {
    const SocketUnit unit(outside);
    options.addresses = {"systemd"};
    options.threads = 2;
    serve();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(connect().ask(get("/health")), "200 OK");
    server->stop();
  }
  // Who comes now waits for the next server.
  EXPECT_TRUE(Client(server->port()).connected());
  close(outside);
}

TEST_P(Listening, WhereConnectionsAreHeldBackUntilTheirFirstByte) {
  options.defer_accept_seconds = 5;
  serve();
  Client silent = connect();
  Client client = connect();
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
#ifdef __linux__
  // Who looks for another has a place for it meanwhile.
  EXPECT_TRUE(eventually([this] { return server->connections() == 1; }));
#endif
  EXPECT_EQ(silent.ask(get("/health")), "200 OK");
}

TEST_P(Listening, OnAPortInUseIsAnError) {
  serve();
  options.port = server->port();
  EXPECT_NE(problem_at_start().find("in use"), std::string::npos) << problem_at_start();
  EXPECT_EQ(connect().ask(get("/health")), "200 OK");
}

TEST_P(Listening, AgainOnTheSamePortAtOnce) {
  serve();
  options.port = server->port();
  Client client = connect();
  EXPECT_EQ(client.ask(get("/health")), "200 OK");
  server->stop();
  for (int i = 0; i < 5; ++i) {
    Server next(make_app(stage), options);
    const auto started = next.start();
    ASSERT_TRUE(started.has_value()) << started.error();
    EXPECT_EQ(Client(next.port()).ask(get("/health", "Connection: close\r\n")), "200 OK");
    next.stop();
  }
}

TEST_P(Listening, BesideAnotherServer) {
  serve();
  Server other(make_app(stage), options);
  ASSERT_TRUE(other.start().has_value());
  EXPECT_NE(other.port(), server->port());
  EXPECT_EQ(connect().ask(get("/health")), "200 OK");
  EXPECT_EQ(Client(other.port()).ask(get("/health")), "200 OK");
}

}  // namespace
}  // namespace leantea::test

// The socket operations and what their errors mean, on real sockets of this machine.
#include "net/socket.hpp"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "net/accept_gate.hpp"
#include "net/clock.hpp"
#include "net/line_a_minute.hpp"
#include "net/listener.hpp"
#include "net/refused_sockets.hpp"

namespace leantea::net {
namespace {

/// Two connected TCP sockets; ours does not block, the client's does.
struct Pair {
  Pair() {
    auto sets = open_listeners({"127.0.0.1:0"}, 1, {});
    const Listener& listener = sets->at(0).at(0);
    client = Fd(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in to{};
    socklen_t length = sizeof to;
    getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&to), &length);
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&to), length), 0);
    ours = Fd(accept_next(listener.fd(), true, Blocking::kNo).fd);
    EXPECT_TRUE(ours);
  }

  void wait_readable() const {
    pollfd ready{.fd = ours.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&ready, 1, 1000), 1);
  }

  Fd client;
  Fd ours;
};

IoResult send_text(int fd, std::string_view text) {
  struct iovec piece = {.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
  return send(fd, {&piece, 1});
}

std::string read_to_end(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t n = 0; (n = ::recv(fd, buffer.data(), buffer.size(), 0)) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

TEST(Classify, NamesWhatMatters) {
  EXPECT_EQ(classify(EAGAIN), IoError::kWouldBlock);
  EXPECT_EQ(classify(EWOULDBLOCK), IoError::kWouldBlock);
  for (const int code : {ECONNRESET, EPIPE, ETIMEDOUT, EHOSTUNREACH, ENETDOWN, ENOTCONN}) {
    EXPECT_EQ(classify(code), IoError::kGone) << code;
  }
  for (const int code : {ECONNABORTED, EPROTO, EPERM, EINTR}) {
    EXPECT_EQ(classify(code), IoError::kNextPlease) << code;
  }
  for (const int code : {EMFILE, ENFILE, ENOBUFS, ENOMEM}) {
    EXPECT_EQ(classify(code), IoError::kNoResources) << code;
  }
  for (const int code : {EBADF, EINVAL, EFAULT})
    EXPECT_EQ(classify(code), IoError::kBroken) << code;
  EXPECT_EQ(classify(0), IoError::kNone);
}

TEST(Socket, MovesBytes) {
  const Pair pair;
  std::array<char, 16> space{};
  EXPECT_EQ(receive(pair.ours.get(), space).error, IoError::kWouldBlock);
  ASSERT_EQ(::send(pair.client.get(), "hello", 5, 0), 5);
  pair.wait_readable();
  const IoResult got = receive(pair.ours.get(), space);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(std::string_view(space.data(), static_cast<std::size_t>(got.bytes)), "hello");
}

TEST(Socket, SendsPiecesInOrder) {
  Pair pair;
  std::string a = "one ";
  std::string b = "two ";
  std::string c = "three";
  std::array<struct iovec, 3> pieces{
      {{a.data(), a.size()}, {b.data(), b.size()}, {c.data(), c.size()}}};
  const IoResult result = send(pair.ours.get(), pieces);
  EXPECT_EQ(result.bytes, 13);
  pair.ours.close();
  EXPECT_EQ(read_to_end(pair.client.get()), "one two three");
}

TEST(Socket, TheEndOfTheStreamIsZeroBytesAndNoError) {
  const Pair pair;
  ::shutdown(pair.client.get(), SHUT_WR);
  pair.wait_readable();
  std::array<char, 16> space{};
  const IoResult got = receive(pair.ours.get(), space);
  EXPECT_TRUE(got.ok());
  EXPECT_EQ(got.bytes, 0);
  // The other direction still works.
  EXPECT_TRUE(send_text(pair.ours.get(), "late").ok());
  shut_down_sending(pair.ours.get());
  EXPECT_EQ(read_to_end(pair.client.get()), "late");
}

TEST(Socket, ASendBufferGetsFull) {
  const Pair pair;
  const std::string much(1 << 20, 'x');
  IoResult result;
  for (int i = 0; i < 100 && result.ok(); ++i) result = send_text(pair.ours.get(), much);
  EXPECT_EQ(result.error, IoError::kWouldBlock);
}

// Sending to a peer that is gone must not raise SIGPIPE, which would end the process.
TEST(Socket, APeerThatIsGoneIsAnErrorAndNoSignal) {
  Pair pair;
  close_socket(pair.client.release(), /*reset=*/true);
  std::array<char, 16> space{};
  pair.wait_readable();
  EXPECT_EQ(receive(pair.ours.get(), space).error, IoError::kGone);
  EXPECT_EQ(send_text(pair.ours.get(), "x").error, IoError::kGone);
}

TEST(Socket, ResetOnCloseIsSeenAsAReset) {
  Pair pair;
  close_socket(pair.ours.release(), /*reset=*/true);
  char byte = 0;
  EXPECT_EQ(::recv(pair.client.get(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST(Socket, APlainCloseIsSeenAsTheEnd) {
  Pair pair;
  close_socket(pair.ours.release(), /*reset=*/false);
  char byte = 0;
  EXPECT_EQ(::recv(pair.client.get(), &byte, 1, 0), 0);
}

TEST(Socket, AcceptBlockingOrNot) {
  auto sets = open_listeners({"127.0.0.1:0"}, 1, {});
  const Listener& listener = sets->at(0).at(0);
  sockaddr_in to{};
  socklen_t length = sizeof to;
  getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&to), &length);
  for (const Blocking blocking : {Blocking::kNo, Blocking::kYes}) {
    const Fd client(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&to), length), 0);
    const Fd ours(accept_next(listener.fd(), true, blocking).fd);
    EXPECT_EQ((fcntl(ours.get(), F_GETFL) & O_NONBLOCK) != 0, blocking == Blocking::kNo);
    EXPECT_NE(fcntl(ours.get(), F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(Socket, RunningOutOfDescriptorsIsAShortage) {
  auto sets = open_listeners({"127.0.0.1:0"}, 1, {});
  const Listener& listener = sets->at(0).at(0);
  sockaddr_in to{};
  socklen_t length = sizeof to;
  getsockname(listener.fd(), reinterpret_cast<sockaddr*>(&to), &length);
  const Fd client(::socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(::connect(client.get(), reinterpret_cast<sockaddr*>(&to), length), 0);

  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const AcceptResult result = accept_next(listener.fd(), true, Blocking::kNo);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(result.fd, -1);
  EXPECT_EQ(result.error, IoError::kNoResources);
  // The connection waits in the queue; nothing is lost.
  EXPECT_TRUE(Fd(accept_next(listener.fd(), true, Blocking::kNo).fd));
}

TEST(Socket, PeerNames) {
  const Pair pair;
  sockaddr_in at{};
  socklen_t length = sizeof at;
  getsockname(pair.client.get(), reinterpret_cast<sockaddr*>(&at), &length);
  EXPECT_EQ(peer_name(pair.ours.get()), "127.0.0.1:" + std::to_string(ntohs(at.sin_port)));
  std::array<int, 2> fds{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds.data()), 0);
  const Fd a(fds[0]);
  const Fd b(fds[1]);
  EXPECT_EQ(peer_name(a.get()), "unix:");
  EXPECT_EQ(peer_name(-1), "");
}

TEST(Socket, AddressesAsText) {
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(80);
  v6.sin6_addr = in6addr_loopback;
  EXPECT_EQ(to_text(reinterpret_cast<sockaddr*>(&v6), sizeof v6), "[::1]:80");
  // A client that came over IPv4 to a dual-stack socket.
  const std::array<unsigned char, 16> mapped{0, 0, 0,    0,    0,   0, 0, 0,
                                             0, 0, 0xff, 0xff, 192, 0, 2, 7};
  std::ranges::copy(mapped, v6.sin6_addr.s6_addr);
  EXPECT_EQ(to_text(reinterpret_cast<sockaddr*>(&v6), sizeof v6), "192.0.2.7:80");
}

TEST(AcceptGate, OpensAfterAWhileOrWhenThereIsRoom) {
  AcceptGate gate;
  EXPECT_TRUE(gate.is_open());
  EXPECT_EQ(gate.opens_at(), AcceptGate::kNever);
  EXPECT_FALSE(gate.may_open(1'000'000));

  gate.shut(1000);
  EXPECT_FALSE(gate.is_open());
  EXPECT_FALSE(gate.may_open(1000 + AcceptGate::kRetryMs - 1));
  EXPECT_TRUE(gate.may_open(1000 + AcceptGate::kRetryMs));
  EXPECT_TRUE(gate.is_open());

  gate.shut(2000);
  gate.room_made();
  EXPECT_TRUE(gate.may_open(2000));
  gate.room_made();
  EXPECT_TRUE(gate.is_open());
}

TEST(LineAMinute, IsDueOnceAMinute) {
  LineAMinute line;
  EXPECT_TRUE(line.due(5));
  EXPECT_FALSE(line.due(6));
  EXPECT_FALSE(line.due(5 + LineAMinute::kEveryMs - 1));
  EXPECT_TRUE(line.due(5 + LineAMinute::kEveryMs));
}

TEST(Clock, GoesForwardAndKnowsTheDay) {
  Clock clock;
  const app::Now first = clock.read();
  EXPECT_LE(std::abs(first.unix_seconds - static_cast<std::int64_t>(::time(nullptr))), 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const app::Now second = clock.read();
  EXPECT_GE(second.mono - first.mono, 4);
  EXPECT_LT(second.mono - first.mono, 1000);
  EXPECT_GE(second.unix_seconds, first.unix_seconds);
  EXPECT_GE(Clock::monotonic_ms(), second.mono);
}

TEST(RefusedSockets, TheAnswerArrivesThoughTheRequestIsNeverRead) {
  Pair pair;
  ASSERT_EQ(::send(pair.client.get(), "GET / HTTP/1.1\r\n", 16, 0), 16);
  pair.wait_readable();
  RefusedSockets refused;
  EXPECT_EQ(refused.due(), RefusedSockets::kNever);
  refused.refuse(pair.ours.release(), "no room", 100);
  EXPECT_EQ(refused.due(), 100 + RefusedSockets::kKeepMs);
  EXPECT_EQ(read_to_end(pair.client.get()), "no room");
  refused.expire(refused.due());
  EXPECT_EQ(refused.due(), RefusedSockets::kNever);
}

TEST(RefusedSockets, KeepsNoMoreThanItsCapacity) {
  RefusedSockets refused;
  std::vector<Fd> clients;
  for (std::size_t i = 0; i < RefusedSockets::kCapacity + 10; ++i) {
    Pair pair;
    refused.refuse(pair.ours.release(), "no room", static_cast<base::Millis>(i));
    clients.push_back(std::move(pair.client));
  }
  // The ten oldest were closed to make room.
  EXPECT_EQ(refused.due(), 10 + RefusedSockets::kKeepMs);
  for (const Fd& client : clients) EXPECT_EQ(read_to_end(client.get()), "no room");
}

}  // namespace
}  // namespace leantea::net

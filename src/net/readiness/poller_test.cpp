// What a readiness loop relies on, for each poller of this build.
#include "net/readiness/poller.hpp"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/reactor/poller.hpp"
#if defined(LEANTEA_HAS_UV) && LEANTEA_HAS_UV
#include "net/libuv/poller_libuv.hpp"
#endif

namespace leantea::net::readiness {
namespace {

using namespace std::chrono_literals;

/// Two sockets that are connected: ours, which is watched, and the peer's.
struct Pair {
  Pair() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()), 0);
    ours = Fd(ends[0]);
    peer = Fd(ends[1]);
  }
  void peer_sends() const { EXPECT_EQ(::write(peer.get(), "x", 1), 1); }

  Fd ours;
  Fd peer;
};

template <Poller P>
class PollerTest : public testing::Test {
 protected:
  using Event = typename P::Event;

  void SetUp() override {
    const auto opened = poller_.open();
    ASSERT_TRUE(opened.has_value()) << opened.error();
  }

  /// The events with a tag of ours, of one wait.
  std::vector<Event> wait(int timeout_ms = 1000) {
    std::vector<Event> events;
    const int count = poller_.wait(timeout_ms);
    for (int i = 0; i < count; ++i) {
      if (P::tag(poller_.event(i)) != nullptr) events.push_back(poller_.event(i));
    }
    return events;
  }
  /// The events of one descriptor, which there have to be, as one.
  bool tells(bool (*what)(const Event&) noexcept) {
    const auto events = wait();
    EXPECT_FALSE(events.empty());
    return std::ranges::any_of(events, what);
  }

  P poller_;
};

#if defined(LEANTEA_HAS_UV) && LEANTEA_HAS_UV
using Pollers = testing::Types<SystemPoller, LibuvPoller>;
#else
using Pollers = testing::Types<SystemPoller>;
#endif
TYPED_TEST_SUITE(PollerTest, Pollers);

TYPED_TEST(PollerTest, TellsBytesAgainUntilTheyAreRead) {
  const Pair pair;
  int tag = 0;
  ASSERT_EQ(this->poller_.add(pair.ours.get(), Interest::kRead, &tag), 0);
  EXPECT_TRUE(this->wait(0).empty());
  pair.peer_sends();
  for (int i = 0; i < 2; ++i) {
    const auto events = this->wait();
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(TypeParam::tag(events[0]), &tag);
    EXPECT_TRUE(TypeParam::readable(events[0]));
    EXPECT_FALSE(TypeParam::writable(events[0]));
  }
  char byte = 0;
  EXPECT_EQ(::read(pair.ours.get(), &byte, 1), 1);
  EXPECT_TRUE(this->wait(0).empty());
  this->poller_.remove(pair.ours.get());
}

TYPED_TEST(PollerTest, TellsWhatItWasLastAskedFor) {
  const Pair pair;
  const int fd = pair.ours.get();
  int tag = 0;
  ASSERT_EQ(this->poller_.add(fd, Interest::kRead, &tag), 0);
  ASSERT_EQ(this->poller_.change(fd, Interest::kRead, Interest::kRead | Interest::kWrite, &tag), 0);
  EXPECT_TRUE(this->tells(&TypeParam::writable));
  pair.peer_sends();
  ASSERT_EQ(this->poller_.change(fd, Interest::kRead | Interest::kWrite, Interest::kNothing, &tag),
            0);
  EXPECT_TRUE(this->wait(0).empty());
  ASSERT_EQ(this->poller_.change(fd, Interest::kNothing, Interest::kRead, &tag), 0);
  EXPECT_TRUE(this->tells(&TypeParam::readable));
  this->poller_.remove(fd);
  EXPECT_TRUE(this->wait(0).empty());
}

TYPED_TEST(PollerTest, TellsThatThePeerHasEndedBehindBytesThatWait) {
  const Pair pair;
  int tag = 0;
  pair.peer_sends();
  ASSERT_EQ(this->poller_.add(pair.ours.get(), Interest::kEnd, &tag), 0);
  EXPECT_TRUE(this->wait(0).empty());
  ::shutdown(pair.peer.get(), SHUT_WR);
  EXPECT_TRUE(this->tells(&TypeParam::ended));
  this->poller_.remove(pair.ours.get());
}

TYPED_TEST(PollerTest, TellsThatAConnectionIsBrokenToThoseWhoAskForNothing) {
  Pair pair;
  int tag = 0;
  ASSERT_EQ(this->poller_.add(pair.ours.get(), Interest::kRead, &tag), 0);
  ASSERT_EQ(this->poller_.change(pair.ours.get(), Interest::kRead, Interest::kNothing, &tag), 0);
  EXPECT_TRUE(this->wait(0).empty());
  pair.peer.close();
  EXPECT_TRUE(this->tells(&TypeParam::broken));
  this->poller_.remove(pair.ours.get());
}

TYPED_TEST(PollerTest, TakesUrgentDataForNoBreak) {
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const at = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener.get(), at, size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), at, &size), 0);
  const Fd peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(peer.get(), at, size), 0);
  const Fd ours(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));

  int tag = 0;
  ASSERT_EQ(this->poller_.add(ours.get(), Interest::kRead, &tag), 0);
  ASSERT_EQ(this->poller_.change(ours.get(), Interest::kRead, Interest::kNothing, &tag), 0);
  ASSERT_EQ(::send(peer.get(), "!", 1, MSG_OOB), 1);
  EXPECT_TRUE(this->wait(50).empty());
  this->poller_.remove(ours.get());
}

TYPED_TEST(PollerTest, TellsMoreThanItTakesAtOnceInSeveralWaits) {
  constexpr std::size_t kPairs = 700;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 2 * kPairs + 100) GTEST_SKIP() << "ulimit -n is " << limit.rlim_cur;
  std::vector<Pair> pairs(kPairs);
  for (Pair& pair : pairs) {
    ASSERT_EQ(this->poller_.add(pair.ours.get(), Interest::kRead, &pair), 0);
    pair.peer_sends();
  }
  std::set<void*> told;
  for (int waits = 0; told.size() < kPairs && waits < 50; ++waits) {
    const auto events = this->wait();
    EXPECT_LE(events.size(), 256u);
    for (const auto& event : events) {
      const auto* const pair = static_cast<const Pair*>(TypeParam::tag(event));
      told.insert(TypeParam::tag(event));
      char byte = 0;
      EXPECT_EQ(::read(pair->ours.get(), &byte, 1), 1);
    }
  }
  EXPECT_EQ(told.size(), kPairs);
  EXPECT_TRUE(this->wait(0).empty());
  for (const Pair& pair : pairs) this->poller_.remove(pair.ours.get());
}

// The loop frees what a tag points at when the turn in which it was removed is over.
TYPED_TEST(PollerTest, DoesNotTellOfTheRemovedInTheNextWait) {
  constexpr std::size_t kPairs = 400;
  std::vector<Pair> pairs(kPairs);
  for (Pair& pair : pairs) {
    ASSERT_EQ(this->poller_.add(pair.ours.get(), Interest::kRead, &pair), 0);
    pair.peer_sends();
  }
  EXPECT_FALSE(this->wait().empty());
  for (Pair& pair : pairs) {
    this->poller_.remove(pair.ours.get());
    pair.ours.close();
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(this->wait(0).empty());
  // Their numbers are given to others.
  const Pair other;
  int tag = 0;
  ASSERT_EQ(this->poller_.add(other.ours.get(), Interest::kRead, &tag), 0);
  other.peer_sends();
  const auto events = this->wait();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(TypeParam::tag(events[0]), &tag);
  this->poller_.remove(other.ours.get());
}

TYPED_TEST(PollerTest, WaitsNoLongerThanItIsToldAndNotMuchShorter) {
  using Clock = std::chrono::steady_clock;
  for (const int timeout : {40, 5, 60}) {
    const auto began = Clock::now();
    const auto end = began + std::chrono::milliseconds(timeout);
    // A wait may end early, without an event.
    int waits = 0;
    for (; Clock::now() < end - 1ms && waits < 10; ++waits) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
      EXPECT_TRUE(this->wait(static_cast<int>(left.count())).empty());
    }
    EXPECT_LT(waits, 5);
    EXPECT_LT(Clock::now(), end + 5s);
  }
}

TYPED_TEST(PollerTest, IsWokenFromAnotherThread) {
  for (int i = 0; i < 3; ++i) {
    std::thread waker([this] { this->poller_.wake(); });
    ASSERT_EQ(this->poller_.wait(-1), 1);
    EXPECT_EQ(TypeParam::tag(this->poller_.event(0)), nullptr);
    waker.join();
  }
  EXPECT_EQ(this->poller_.wait(0), 0);
}

}  // namespace
}  // namespace leantea::net::readiness

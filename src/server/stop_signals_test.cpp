#include "server/stop_signals.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace leantea::server {
namespace {

using Event = StopSignals::Event;

void send_to_process(int signal) { ASSERT_EQ(::kill(::getpid(), signal), 0); }

void (*handler_of(int signal))(int) {
  struct sigaction action{};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

TEST(StopSignals, MakeEventsOfBothSignals) {
  StopSignals signals;
  ASSERT_TRUE(signals.ready());
  for (const int signal : {SIGTERM, SIGINT, SIGTERM}) {
    send_to_process(signal);
    EXPECT_EQ(signals.next(), Event::kSignal);
  }
}

TEST(StopSignals, MixWithEventsOfOtherThreads) {
  StopSignals signals;
  std::thread other([&signals] {
    signals.post(Event::kDrain);
    signals.post(Event::kEnded);
  });
  EXPECT_EQ(signals.next(), Event::kDrain);
  EXPECT_EQ(signals.next(), Event::kEnded);
  other.join();
}

TEST(StopSignals, EveryObjectSeesEverySignal) {
  StopSignals first;
  std::atomic<bool> made{false};
  std::thread other([&made] {
    StopSignals second;
    made = true;
    EXPECT_EQ(second.next(), Event::kSignal);
  });
  while (!made) std::this_thread::yield();
  send_to_process(SIGTERM);
  EXPECT_EQ(first.next(), Event::kSignal);
  other.join();
}

TEST(StopSignals, GiveBackWhatWasBefore) {
  ::signal(SIGTERM, SIG_IGN);
  {
    StopSignals first;
    EXPECT_NE(handler_of(SIGTERM), SIG_IGN);
    {
      const StopSignals second;
    }
    EXPECT_NE(handler_of(SIGTERM), SIG_IGN);
  }
  EXPECT_EQ(handler_of(SIGTERM), SIG_IGN);
  ::signal(SIGTERM, SIG_DFL);
}

TEST(StopSignals, UnblockTheSignalsAsLongAsTheyLive) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
  {
    StopSignals signals;
    send_to_process(SIGTERM);
    EXPECT_EQ(signals.next(), Event::kSignal);
  }
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_EQ(sigismember(&after, SIGTERM), 1);
}

TEST(StopSignals, ForgetWhatNobodyRead) {
  {
    StopSignals signals;
    signals.post(Event::kEnded);
  }
  StopSignals signals;
  signals.post(Event::kDrain);
  EXPECT_EQ(signals.next(), Event::kDrain);
}

TEST(StopSignals, SayWhenThereAreTooMany) {
  std::vector<std::unique_ptr<StopSignals>> all;
  for (std::size_t i = 0; i < StopSignals::kMost; ++i) {
    all.push_back(std::make_unique<StopSignals>());
    ASSERT_TRUE(all.back()->ready());
  }
  const StopSignals one_more;
  ASSERT_FALSE(one_more.ready());
  EXPECT_NE(one_more.ready().error().find("64 servers"), std::string::npos);
}

}  // namespace
}  // namespace leantea::server

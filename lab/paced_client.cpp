// The client of a paced load: one thread, one epoll loop, a fixed schedule.
#include <sched.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <deque>
#include <vector>

#include <fmt/format.h>

#include "client.hpp"
#include "descriptor.hpp"
#include "failure.hpp"
#include "interrupt.hpp"
#include "paced.hpp"

namespace leantea::lab {
namespace {

using std::chrono::nanoseconds;

constexpr nanoseconds kSpinBelow =
    std::chrono::microseconds(200);  // a timer of the kernel is not more precise
constexpr nanoseconds kSignalCheck = std::chrono::milliseconds(50);
constexpr nanoseconds kPatience = std::chrono::seconds(10);  // for the last answers

class PacedClient {
 public:
  PacedClient(std::uint16_t port, const Load& load)
      : request_(bytes_of(load.first(), port)), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    for (int i = 0; i < load.connections; ++i) {
      clients_.emplace_back(port);
      // The first answer's size is that of all: the servers here send constants of constant size.
      const Answer answer = clients_.back().exchange(request_);
      if (answer.status != 200)
        throw Failure(fmt::format("the server answers with status {}", answer.status));
      answer_bytes_ = answer.bytes;
      states_.push_back({});
      free_.push_back(static_cast<std::size_t>(i));
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = static_cast<std::uint64_t>(i);
      if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, clients_.back().descriptor(), &event) != 0)
        throw Failure("epoll_ctl");
    }
  }

  PacedResult run(double rate, nanoseconds duration, bool may_spin) {
    const nanoseconds interval(static_cast<std::int64_t>(1e9 / rate));
    const auto start = Clock::now();
    const auto end = start + duration;
    auto next_due = start;
    auto next_signal_check = start + kSignalCheck;
    for (auto now = start; next_due < end || in_flight_ > 0 || !due_.empty(); now = Clock::now()) {
      for (; next_due <= now && next_due < end; next_due += interval) due_.push_back(next_due);
      send_due(now);
      receive(timeout(next_due < end ? next_due - now : kSignalCheck, may_spin));
      if (now >= next_signal_check) {
        check_interrupt();
        next_signal_check = now + kSignalCheck;
        if (now > end + kPatience)
          throw Failure("paced: the server still owed answers 10 s after the last request");
      }
    }
    result_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return result_;
  }

 private:
  struct State {
    Clock::time_point due;
    std::size_t received = 0;
  };

  /// How long to wait for answers. The last part before the next request is spun, if the client has a core for it.
  static nanoseconds timeout(nanoseconds until_due, bool may_spin) {
    if (until_due <= nanoseconds(0)) return nanoseconds(0);
    if (!may_spin) return until_due;
    return until_due < kSpinBelow ? nanoseconds(0) : until_due - kSpinBelow;
  }

  void send_due(Clock::time_point now) {
    while (!due_.empty() && !free_.empty()) {
      const std::size_t index = free_.front();
      free_.pop_front();
      State& state = states_[index];
      state.due = due_.front();
      due_.pop_front();
      if (!waited_for_connection_) result_.late.record(now - state.due);
      clients_[index].send(request_);
      ++result_.sent;
      ++in_flight_;
    }
    waited_for_connection_ = !due_.empty();
  }

  void receive(nanoseconds timeout) {
    const timespec wait{.tv_sec = timeout.count() / 1'000'000'000,
                        .tv_nsec = timeout.count() % 1'000'000'000};
    const int ready = ::epoll_pwait2(epoll_.get(), events_.data(), kEvents, &wait, nullptr);
    if (ready < 0 && errno != EINTR)
      throw Failure("paced: epoll_pwait2 failed (it needs Linux 5.11 or newer)");
    for (int i = 0; i < ready; ++i)
      take(static_cast<std::size_t>(events_[static_cast<std::size_t>(i)].data.u64));
  }

  void take(std::size_t index) {
    State& state = states_[index];
    const ssize_t got =
        ::recv(clients_[index].descriptor(), block_.data(), block_.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) throw Failure("paced: the server closed a connection");
    constexpr std::string_view kOk = "HTTP/1.1 200";
    const std::string_view bytes(block_.data(), static_cast<std::size_t>(got));
    if (state.received == 0 && bytes.size() >= kOk.size() && !bytes.starts_with(kOk)) {
      throw Failure(fmt::format("paced: not a 200: {}", bytes.substr(0, 40)));
    }
    state.received += bytes.size();
    if (state.received < answer_bytes_) return;
    state.received = 0;
    result_.latency.record(Clock::now() - state.due);
    ++result_.answered;
    --in_flight_;
    free_.push_back(index);
  }

  static constexpr int kEvents = 256;

  const std::string request_;
  Descriptor epoll_;
  std::vector<Client> clients_;
  std::vector<State> states_;
  std::deque<std::size_t> free_;
  std::deque<Clock::time_point> due_;
  std::size_t answer_bytes_ = 0;
  std::size_t in_flight_ = 0;
  bool waited_for_connection_ = false;
  PacedResult result_;
  std::array<epoll_event, kEvents> events_{};
  std::array<char, 4096> block_{};
};

/// This thread on other cores, until the end of the object.
class OnCores {
 public:
  explicit OnCores(const std::vector<int>& cpus) {
    ::sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
    if (!cpus.empty()) ::sched_setaffinity(0, sizeof set, &set);
  }
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;
  ~OnCores() { ::sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
};

}  // namespace

PacedResult run_paced(std::uint16_t port, const Load& load, double rate,
                      const std::vector<int>& cpus, bool may_spin) {
  const OnCores on_cores(cpus);
  ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  return PacedClient(port, load).run(rate, load.duration, may_spin);
}

}  // namespace leantea::lab

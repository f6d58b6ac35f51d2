#include "slow_readers.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "client.hpp"
#include "failure.hpp"

namespace leantea::lab {
namespace {

constexpr std::size_t kWarmUpClients = 8;
constexpr std::chrono::milliseconds kSettle{200};
constexpr std::chrono::milliseconds kPause{50};  // between the reads of a slow reader
constexpr std::chrono::seconds kMostFilling{5};
constexpr std::size_t kSip = 256;  // bytes that it then takes: about one answer
constexpr int kRequestsPerWrite = 16;

/// The slow readers of one server.
class SlowReaders {
 public:
  SlowReaders(std::uint16_t port, int count) {
    const RequestSpec json{.target = "/json"};
    for (int i = 0; i < kRequestsPerWrite; ++i) requests_ += bytes_of(json, port);
    for (int i = 0; i < count; ++i) clients_.push_back({std::make_unique<Client>(port), 0, {}});
  }
  SlowReaders(const SlowReaders&) = delete;
  SlowReaders& operator=(const SlowReaders&) = delete;

  /// Asks until no connection has taken a byte for a while: the server has stopped reading, or it reads without end.
  void fill() {
    const auto end = Clock::now() + kMostFilling;
    for (auto last = Clock::now(); Clock::now() - last < kSettle && Clock::now() < end;) {
      if (ask()) {
        last = Clock::now();
      } else {
        pause_for(std::chrono::milliseconds(1));
      }
    }
  }

  /// From now on, in a thread of its own: a sip from each, and as many requests as there is room for.
  void sip() {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        std::array<char, kSip> bytes{};
        for (One& one : clients_)
          (void)::recv(one.client->descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        ask();
        std::this_thread::sleep_for(kPause);
      }
    });
  }

 private:
  struct One {
    std::unique_ptr<Client> client;
    std::size_t sent = 0;  ///< of requests_, in the current turn
    bool ended = false;    ///< the server has closed it, as it may
  };

  bool ask() {
    bool any = false;
    for (One& one : clients_) {
      if (one.ended) continue;
      const ssize_t took = ::send(one.client->descriptor(), requests_.data() + one.sent,
                                  requests_.size() - one.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      one.ended = took < 0 && errno != EAGAIN && errno != EINTR;
      if (took <= 0) continue;
      one.sent = (one.sent + static_cast<std::size_t>(took)) % requests_.size();
      any = true;
    }
    return any;
  }

  std::string requests_;
  std::vector<One> clients_;
  std::jthread thread_;  // the last: it ends before what it uses
};

Sample measure(Stage& stage, const Scenario& scenario, Server& server, const Load& load) {
  std::vector<std::unique_ptr<Client>> warm;
  for (std::size_t i = 0; i < kWarmUpClients; ++i) {
    warm.push_back(std::make_unique<Client>(server.port()));
    warm.back()->exchange(bytes_of({.target = "/json"}, server.port()));
  }
  warm_up(server, load);
  pause_for(kSettle);
  const Memory before = server.memory();
  SlowReaders readers(server.port(), scenario.slow_readers);
  readers.fill();
  const Memory after = server.memory();
  readers.sip();
  Sample sample = stage.measure(server, load);
  const double grown = static_cast<double>(after.anonymous) - static_cast<double>(before.anonymous);
  sample.bytes_per_connection = std::max(grown / scenario.slow_readers, 1.0);
  return sample;
}

}  // namespace

void run_slow_readers(Stage& stage, const Scenario& scenario, const std::vector<Entrant>& entrants,
                      const BlockPlan& plan, ContestResult& result, const Progress& progress) {
  stage.run_apart(entrants, plan, result, progress, [&](std::size_t lane, Server& server) {
    return measure(stage, scenario, server, entrants[lane].load);
  });
}

}  // namespace leantea::lab

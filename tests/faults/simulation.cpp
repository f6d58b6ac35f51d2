#include "faults/simulation.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "faults/schedule.hpp"
#include "support/faults_app.hpp"
#include "support/live_bytes.hpp"
#include "support/wire.hpp"

namespace leantea::test {

namespace {

constexpr std::size_t kReceive = 8 * 1024;  // what one receive brings at most

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed)
      : dice_(seed), requests_(plan_requests(dice_)), server_(faults_app(), faults_limits()) {
    for (const PlannedRequest& request : requests_) bytes_ += request.bytes;
    const bool place = server_.engine().take_place();
    if (!place) fail("no place");
    held_before_ = live_bytes();
    connection_ = std::make_unique<app::Connection>(server_.engine());
  }

  std::string run() {
    for (int step = 0; step < 4000 && error_.empty() && connection_ != nullptr; ++step) act();
    check_answers();
    // Whatever happened: nothing is left of it.
    connection_.reset();
    if (error_.empty() && !server_.engine().finished()) fail("something outlived the connection");
    return error_;
  }

 private:
  void fail(const std::string& why) {
    if (error_.empty()) error_ = why;
  }

  void act() {
    remember_output();
    switch (dice_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        deliver();
        break;
      case 4:
      case 5:
      case 6:
      case 7:
        send(dice_.one_in(4) ? 1 + dice_.below(7) : 1 + dice_.below(6000));
        break;
      case 8:
      case 9:
        elapse(dice_.below(60));
        break;
      case 10:
        if (dice_.one_in(12)) elapse(dice_.below(4000));
        break;
      default:
        if (!dice_.one_in(25)) break;
        if (dice_.one_in(2)) {
          ended_ = true;
          connection_->receive_end();
        } else {
          reset_ = true;
          connection_->peer_gone();
        }
    }
    check_output_stayed();
    settle();
    check_memory();
    if (at_ == bytes_.size() && connection_ != nullptr && !connection_->wants_output() && quiet()) {
      ended_ = true;
      connection_->receive_end();
      settle();
    }
  }

  bool quiet() const { return connection_->in_progress() == 0; }

  /// Some bytes come, in memory that is gone afterwards (contract 1).
  void deliver() {
    if (ended_ || reset_ || at_ == bytes_.size()) return;
    if (!connection_->wants_input() && !dice_.one_in(30)) return;
    const std::size_t most = dice_.one_in(3) ? 3 : kReceive;
    const std::size_t size = std::min(1 + dice_.below(most), bytes_.size() - at_);
    const std::span<char> space = connection_->receive_space();
    if (space.size() >= size && dice_.one_in(2)) {
      std::memcpy(space.data(), bytes_.data() + at_, size);
      connection_->receive({space.data(), size});
    } else {
      const auto lent = std::make_unique<char[]>(size);
      std::memcpy(lent.get(), bytes_.data() + at_, size);
      connection_->receive({lent.get(), size});
      std::memset(lent.get(), '#', size);
    }
    at_ += size;
  }

  void send(std::size_t window) {
    if (!connection_->wants_output()) return;
    std::array<struct iovec, 3> pieces;
    const std::size_t count = connection_->output(pieces).count;
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count && taken < window; ++i) {
      const std::size_t part = std::min(pieces[i].iov_len, window - taken);
      sent_.append(static_cast<const char*>(pieces[i].iov_base), part);
      taken += part;
    }
    shown_.clear();
    connection_->sent(taken);
  }

  void elapse(std::uint64_t ms) {
    server_.elapse(std::chrono::milliseconds(ms));
    passed_ += ms;
  }

  void settle() {
    while (server_.engine().take_touched() != nullptr) {
    }
    if (connection_->wants_write_shutdown()) connection_->write_shutdown_done();
    if (!connection_->finished()) return;
    was_reset_ = connection_->reset_on_close();
    connection_.reset();
  }

  /// Contract 2: what output() showed stays where it is until it is taken.
  void remember_output() {
    std::array<struct iovec, 3> pieces;
    const std::size_t count = connection_->output(pieces).count;
    shown_.clear();
    for (std::size_t i = 0; i < count; ++i)
      shown_.emplace_back(
          static_cast<const char*>(pieces[i].iov_base),
          std::string(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len));
  }
  void check_output_stayed() {
    if (!connection_->wants_output()) return;  // taken, or dropped with a broken connection
    for (const auto& [place, bytes] : shown_)
      if (std::memcmp(place, bytes.data(), bytes.size()) != 0) fail("output moved or changed");
  }

  /// Contract 3.
  void check_memory() {
    const auto held =
        static_cast<std::size_t>(std::max<std::int64_t>(live_bytes() - held_before_, 0));
    // What the test itself holds, and the blocks the pool keeps for reuse.
    const std::size_t own = sent_.capacity() + 2 * kReceive + 64 * 1024 +
                            base::BlockPool::kKeep * (base::BlockPool::kBlockBytes + 64);
    std::size_t shown = 0;
    for (const auto& piece : shown_) shown += piece.second.capacity();
    if (held > server_.limits().connection_bound() + own + shown)
      fail("holds " + std::to_string(held) + " bytes");
    const std::size_t output_bound =
        server_.limits().output_bytes + server_.limits().body_bytes + 24 * 1024;
    if (connection_ != nullptr && connection_->output_size() > output_bound)
      fail("output of " + std::to_string(connection_->output_size()) + " bytes waits");
  }

  /// Contract 4: one answer for each request, in order, up to where the connection ended.
  void check_answers() {
    if (!error_.empty()) return;
    std::vector<std::size_t> heads;
    for (std::size_t i = 0; i < requests_.size(); ++i)
      if (requests_[i].head) heads.push_back(i);
    std::string rest = sent_;
    std::vector<WireAnswer> answers = take_answers(rest, heads);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      if (i >= requests_.size()) {
        // Bytes that are no request yet may time out.
        if (answers[i].status != 408) fail("more answers than requests");
        return;
      }
      const PlannedRequest& request = requests_[i];
      const bool last = i + 1 == answers.size();
      const bool as_planned =
          answers[i].status == request.status && answers[i].body == request.body;
      const bool timed_out = last && answers[i].status == 408;
      if (!as_planned && !timed_out) {
        fail("answer " + std::to_string(i) + " is " + std::to_string(answers[i].status) + " '" +
             answers[i].body.substr(0, 40) + "', planned " + std::to_string(request.status) + " '" +
             request.body.substr(0, 40) + "'");
        return;
      }
      if (!last && request.ends) fail("an answer came after the last one");
    }
    if (connection_ != nullptr) return fail("the connection never ended");
    const bool undisturbed =
        !reset_ && !was_reset_ && rest.empty() && at_ == bytes_.size() && passed_ < 1500;
    if (undisturbed && answers.size() < requests_.size() && !early_end())
      fail("only " + std::to_string(answers.size()) + " of " + std::to_string(requests_.size()) +
           " answered");
  }
  /// The server may end a connection whose request it answered without reading all of its content.
  bool early_end() const { return sent_.find("Connection: close") != std::string::npos; }

  Dice dice_;
  std::vector<PlannedRequest> requests_;
  std::string bytes_;
  std::size_t at_ = 0;
  app::SocketlessServer server_;
  std::int64_t held_before_ = 0;
  std::unique_ptr<app::Connection> connection_;
  std::string sent_;
  std::vector<std::pair<const char*, std::string>> shown_;
  std::uint64_t passed_ = 0;
  bool ended_ = false;
  bool reset_ = false;
  bool was_reset_ = false;
  std::string error_;
};

}  // namespace

std::string simulate(std::uint64_t seed) { return Simulation(seed).run(); }

}  // namespace leantea::test

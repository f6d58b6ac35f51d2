#include "app/socketless.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"

namespace leantea::app {

namespace {
// Tuesday, 2026-12-01 00:00:00 UTC: virtual time begins here, so that Date is the same in every run.
constexpr std::int64_t kFirstSecond = 1'796'083'200;
constexpr base::Millis kFirstMillis = 1'000'000;

Now at(base::Millis mono) noexcept { return {mono, kFirstSecond + (mono - kFirstMillis) / 1000}; }
}  // namespace

SocketlessServer::SocketlessServer(Router router, Limits limits)
    : limits_(limits),
      application_(std::move(router),
                   [this](std::string_view line) {
                     const std::lock_guard lock(mutex_);
                     log_.emplace_back(line);
                   }),
      workers_(std::make_unique<WorkerPool>(2)),
      shared_(new ServerShared{application_, limits_, *workers_}),
      engine_(std::make_unique<Engine>(*shared_, *this, at(kFirstMillis))) {}

SocketlessServer::~SocketlessServer() {
  workers_.reset();  // runs what is queued, so that orphans come home
  run_posted();
}

std::vector<std::string> SocketlessServer::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

void SocketlessServer::elapse(std::chrono::milliseconds time) {
  const base::Millis end = engine_->now().mono + time.count();
  while (engine_->now().mono < end) {
    const int wait = engine_->wait_ms();
    const base::Millis left = end - engine_->now().mono;
    const base::Millis step = wait < 0 ? left : std::clamp<base::Millis>(wait, 1, left);
    engine_->set_now(at(engine_->now().mono + step));
    engine_->run_due();
  }
}

bool SocketlessServer::run_posted() {
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(awake_, false)) return false;
  }
  engine_->run_posted();
  return true;
}

bool SocketlessServer::wait_for_worker() {
  {
    std::unique_lock lock(mutex_);
    if (!woken_.wait_for(lock, std::chrono::seconds(5), [this] { return awake_; })) return false;
  }
  return run_posted();
}

void SocketlessServer::wake() noexcept {
  const std::lock_guard lock(mutex_);
  awake_ = true;
  woken_.notify_one();
}

SocketlessConnection::SocketlessConnection(SocketlessServer& server) : server_(server) {
  const bool place = server.engine().take_place();
  LEANTEA_ASSERT(place);
  connection_ = std::make_unique<Connection>(server.engine());
}

SocketlessConnection::~SocketlessConnection() = default;

void SocketlessConnection::receive(std::string_view bytes) {
  if (closed()) return;
  const std::span<char> space = connection_->receive_space();
  if (space.size() >= bytes.size()) {
    std::ranges::copy(bytes, space.begin());
    connection_->receive({space.data(), bytes.size()});
  } else {
    // Lent bytes must not be looked at after the call: they are gone then.
    const auto lent = std::make_unique<char[]>(bytes.size());
    std::ranges::copy(bytes, lent.get());
    connection_->receive({lent.get(), bytes.size()});
  }
  drive();
}

void SocketlessConnection::receive_end() {
  if (closed()) return;
  connection_->receive_end();
  drive();
}

void SocketlessConnection::reset() {
  if (closed()) return;
  connection_->peer_gone();
  drive();
}

void SocketlessConnection::drive() {
  while (server_.engine().take_touched() != nullptr) {
  }
  while (!closed()) {
    std::array<struct iovec, 4> pieces;
    if (connection_->wants_output() && window_ > 0) {
      const std::size_t count = connection_->output(pieces).count;
      std::size_t taken = 0;
      for (std::size_t i = 0; i < count && taken < window_; ++i) {
        const std::size_t part = std::min(pieces[i].iov_len, window_ - taken);
        sent_.append(static_cast<const char*>(pieces[i].iov_base), part);
        taken += part;
      }
      if (window_ != SIZE_MAX) window_ -= taken;
      connection_->sent(taken);
      continue;
    }
    if (connection_->wants_write_shutdown()) {
      write_shut_down_ = true;
      connection_->write_shutdown_done();
      continue;
    }
    if (connection_->finished()) {
      was_reset_ = connection_->reset_on_close();
      connection_.reset();
    }
    return;
  }
}

bool SocketlessConnection::wait() {
  bool happened = true;
  if (connection_->on_worker()) {
    happened = server_.wait_for_worker();
  } else {
    const int time = server_.engine().wait_ms();
    happened = time >= 0;
    if (happened) server_.elapse(std::chrono::milliseconds(std::max(time, 1)));
  }
  drive();
  return happened;
}

void SocketlessConnection::elapse(std::chrono::milliseconds time) {
  server_.elapse(time);
  drive();
}

}  // namespace leantea::app

#include "app/engine.hpp"

#include <algorithm>

#include "app/connection.hpp"
#include "base/assert.hpp"
#include "h1/response_encoder.hpp"

namespace leantea::app {

namespace {

// After a drain's deadline stop tokens have fired: how long handlers that were woken may take to answer
// before their connections are cut.
constexpr base::Millis kCutGrace = 100;

constexpr base::Millis kNoTimeout = INT64_MAX / 2;

}  // namespace

Engine::Engine(ServerShared& shared, Waker& waker, Now now)
    : shared_(shared), limits_(shared.limits), waker_(waker), now_(now), wheel_(now.mono) {
  const auto bound = [](Limits::milliseconds timeout) {
    return timeout.count() == 0 ? kNoTimeout : timeout.count();
  };
  quiet_timeout_ = std::min(bound(limits().idle_timeout), bound(limits().write_timeout));
  date_.update(now.unix_seconds);
  head_.fields = fields_.data();
  head_.field_capacity = static_cast<std::uint16_t>(fields_.size());
}

Engine::~Engine() { LEANTEA_ASSERT(finished()); }

int Engine::wait_ms_otherwise() const noexcept {
  // A worker that is just leaving post() cannot wake us any more; see finished().
  if (draining_ && first_ == nullptr) return 1;
  if (touched_ != nullptr) return 0;
  return ms_until(std::min(next_due_, cut_ ? drain_deadline_ + kCutGrace : drain_deadline_));
}

void Engine::run_posted() {
  for (base::MailItem* item = mailbox_.take_all(); item != nullptr;) {
    base::MailItem* const next = item->next;
    item->deliver();
    item = next;
  }
}

void Engine::run_drain() {
  if (now_.mono < drain_deadline_) return;
  if (!cut_) {
    cut_ = true;
    for (Connection* c = first_; c != nullptr; c = c->next_) c->cut();
  } else if (now_.mono >= drain_deadline_ + kCutGrace) {
    for (Connection* c = first_; c != nullptr; c = c->next_) {
      c->peer_gone();
      touch(*c);
    }
  }
}

void Engine::fire_timers() {
  next_due_ = INT64_MAX;
  for (base::TimerNode* node = wheel_.advance(now_.mono); node != nullptr;) {
    base::TimerNode* const next = node->next;
    Connection::of_timer(*node).on_time();
    node = next;
  }
  const base::Millis due = wheel_.next_due();
  if (due >= 0) next_due_ = due;
}

Connection* Engine::take_touched() noexcept {
  Connection* const connection = touched_;
  if (connection == nullptr) return nullptr;
  touched_ = connection->next_touched_;
  connection->next_touched_ = nullptr;
  connection->touched_ = false;
  return connection;
}

void Engine::touch(Connection& connection) noexcept {
  if (connection.touched_) return;
  connection.touched_ = true;
  connection.next_touched_ = touched_;
  touched_ = &connection;
}

bool Engine::take_place() noexcept {
  std::atomic<std::uint32_t>& count = shared_.connections;
  if (count.fetch_add(1, std::memory_order_relaxed) < limits().connections) return true;
  count.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void Engine::give_back_place() noexcept {
  shared_.connections.fetch_sub(1, std::memory_order_relaxed);
}

bool Engine::has_place() const noexcept {
  return shared_.connections.load(std::memory_order_relaxed) < limits().connections;
}

std::string_view Engine::refusal() noexcept {
  base::OutputQueue out;
  Response response = Response::text("Service Unavailable");
  response.set_status(Status::kServiceUnavailable).header("Retry-After", "1");
  h1::encode_response(std::move(response), {.close = true, .date_line = date_.line()}, blocks_,
                      out);
  struct iovec piece{};
  out.gather({&piece, 1});
  refusal_.assign(static_cast<const char*>(piece.iov_base), piece.iov_len);
  out.clear(blocks_);
  return refusal_;
}

void Engine::begin_drain(base::Millis deadline) {
  drain_deadline_ = draining_ ? std::min(drain_deadline_, deadline) : deadline;
  if (draining_) return;
  draining_ = true;
  quiet_timeout_ = INT64_MIN / 2;  // every connection is looked at: it ends when it is idle
  for (Connection* c = first_; c != nullptr; c = c->next_) c->begin_drain();
}

void Engine::post(base::MailItem& item) noexcept {
  posting_.fetch_add(1, std::memory_order_relaxed);
  if (mailbox_.post(item)) waker_.wake();
  // The last touch: from here on the loop may end and the engine be gone.
  posting_.fetch_sub(1, std::memory_order_release);
}

void Engine::add(Connection& connection) noexcept {
  connection.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &connection;
  first_ = &connection;
  ++connection_count_;
}

void Engine::remove(Connection& connection) noexcept {
  if (connection.previous_ != nullptr) {
    connection.previous_->next_ = connection.next_;
  } else {
    first_ = connection.next_;
  }
  if (connection.next_ != nullptr) connection.next_->previous_ = connection.previous_;
  --connection_count_;
  if (!connection.touched_) return;
  Connection** link = &touched_;
  while (*link != &connection) link = &(*link)->next_touched_;
  *link = connection.next_touched_;
}

}  // namespace leantea::app

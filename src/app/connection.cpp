// A connection's life: what the backend tells it and what it wants of the backend. How input becomes
// requests is in connection_input.cpp, how requests become answers in connection_answers.cpp, and what
// time does in connection_time.cpp.
#include "app/connection.hpp"

#include "app/exchange.hpp"
#include "app/input_stash.hpp"
#include "base/assert.hpp"

namespace leantea::app {

Connection::Connection(Engine& engine) noexcept : engine_(engine), since_(engine.now().mono) {
  engine_.add(*this);
  rearm();
}

Connection::~Connection() {
  abandon_all();
  drop_stash();
  output_.clear(engine_.blocks());
  engine_.cancel_timer(*this);
  engine_.remove(*this);
  engine_.give_back_place();
}

std::span<char> Connection::receive_space() noexcept {
  if (input_ != Input::kBody || stash_ != nullptr) return {};
  return receiving_->content_space();
}

void Connection::receive_end() {
  if (peer_ended_) return;
  peer_ended_ = true;
  if (closing_ == Closing::kLinger) closing_ = Closing::kFlush;
  if (closing_ == Closing::kShutDown) closing_ = Closing::kDone;
  if (closing_ != Closing::kNo) return;
  // The client may have shut down only its sending side and still read (RFC 9112 §9.6), or it may be
  // gone: handlers are told and decide; their answers are still sent.
  for (Exchange* e = front_; e != nullptr; e = e->next) e->request_stop();
  advance();
  rearm();
}

/// Content that breaks off makes no request: it has no answer, unless that is under way already.
void Connection::break_off_content() {
  Exchange* const exchange = std::exchange(receiving_, nullptr);
  end_input();
  if (exchange->listed() && exchange->answered()) {
    exchange->close();
    return exchange->content_broke_off();
  }
  if (exchange->listed()) {
    Exchange** place = &front_;
    while (*place != exchange) place = &(*place)->next;
    *place = exchange->next;
    --in_progress_;
  }
  Exchange::abandon(exchange);
}

void Connection::end_announced() {
  for (Exchange* e = front_; e != nullptr; e = e->next) e->request_stop();
  advance();
  rearm();
}

void Connection::peer_gone() {
  abandon_all();
  drop_stash();
  output_.clear(engine_.blocks());
  input_ = Input::kEnded;
  closing_ = Closing::kDone;
}

void Connection::go_on_after_output() {
  if (front_ != nullptr || stash_ != nullptr) {
    if (front_ != nullptr && front_->head_sent()) front_->output_drained();
    advance();
  }
  if (closing_ == Closing::kLinger && output_.empty() && peer_ended_) closing_ = Closing::kDone;
  rearm();
}

void Connection::write_shutdown_done() {
  LEANTEA_ASSERT(wants_write_shutdown());
  closing_ = Closing::kShutDown;
  since_ = now();
  rearm();
}

bool Connection::wants_input_while_closing() const noexcept {
  return (closing_ == Closing::kLinger || closing_ == Closing::kShutDown) && !peer_ended_;
}

bool Connection::on_worker() const noexcept {
  for (const Exchange* e = front_; e != nullptr; e = e->next)
    if (e->on_worker()) return true;
  return false;
}

std::string Connection::peer() const {
  const auto name = engine_.peer_inquiry().name;
  return name != nullptr ? name(*this) : std::string{};
}

bool Connection::idle() const noexcept {
  return front_ == nullptr && receiving_ == nullptr && stash_ == nullptr && output_.empty() &&
         closing_ == Closing::kNo;
}

}  // namespace leantea::app

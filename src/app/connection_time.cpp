// A connection and time: every deadline is a function of the state that gives the time it is due, or
// kNever. The wheel holds one node per connection, which is only ever moved forward in time when it
// fires, so that a request costs no timer work beyond storing `since_`.
#include <algorithm>

#include "app/connection.hpp"
#include "app/exchange.hpp"
#include "app/input_stash.hpp"

namespace leantea::app {

namespace {

// While a server drains, a connection that waits for a request may still bring one, as its client has sent
// it already, or will before it sees the end: this long. Under load every connection is between two requests
// when the drain begins, and closing them all at once would reset that many requests away.
constexpr base::Millis kDrainGrace = 500;

base::Millis after(base::Millis since, Limits::milliseconds timeout, base::Millis never) noexcept {
  return timeout.count() == 0 ? never : since + timeout.count();
}

}  // namespace

base::Millis Connection::head_due() const noexcept {
  if (closing_ != Closing::kNo || input_ != Input::kHead || input_waits()) return kNever;
  const bool partial = stash_ != nullptr;
  if (!partial && (served_ != 0 || front_ != nullptr)) return kNever;
  const base::Millis end = after(since_, engine_.limits().head_timeout, kNever);
  return !partial && engine_.draining() ? std::min(end, since_ + kDrainGrace) : end;
}

base::Millis Connection::idle_due() const noexcept {
  if (served_ == 0 || !idle()) return kNever;
  const base::Millis end = after(since_, engine_.limits().idle_timeout, kNever);
  return engine_.draining() ? std::min(end, since_ + kDrainGrace) : end;
}

base::Millis Connection::write_due() const noexcept {
  if (output_.empty() || write_since_ == 0) return kNever;
  return after(write_since_, engine_.limits().write_timeout, kNever);
}

base::Millis Connection::linger_due() const noexcept {
  return closing_ == Closing::kShutDown ? after(since_, engine_.limits().linger_timeout, kNever)
                                        : kNever;
}

base::Millis Connection::body_due() const noexcept {
  if (closing_ != Closing::kNo || receiving_ == nullptr ||
      output_.size() >= engine_.limits().output_bytes)
    return kNever;
  return receiving_->content_due();
}

base::Millis Connection::next_due() const noexcept {
  base::Millis first = std::min({head_due(), idle_due(), write_due(), linger_due(), body_due()});
  for (const Exchange* e = front_; e != nullptr; e = e->next)
    first = std::min({first, e->handler_due(), e->wake_due()});
  return first;
}

void Connection::rearm_otherwise() noexcept {
  if (finished()) return;
  const base::Millis first = next_due();
  // A node that is set for an earlier time is left: when it fires, the time is looked at again.
  if (first != kNever && (!is_set() || first < due)) engine_.set_timer(*this, first);
}

/// The kernel may hold megabytes for the client and ask for more only when a third of them is gone. A client that reads
/// slowly, but all the time, takes longer for that than write_timeout, so before it is given up the kernel is asked.
void Connection::look_for_delivery(base::Millis time) {
  const auto delivery_age = engine_.peer_inquiry().delivery_age;
  if (delivery_age == nullptr) return;
  const base::Millis age = delivery_age(*this);
  if (age >= 0) write_since_ = std::max(write_since_, time - age);
}

void Connection::on_time() {
  const base::Millis time = now();
  if (write_due() <= time) look_for_delivery(time);
  if (write_due() <= time) {
    reset_ = true;  // what the client did not take cannot be delivered
    peer_gone();
  } else if (linger_due() <= time) {
    closing_ = Closing::kDone;
  } else if (head_due() <= time) {
    if (stash_ != nullptr) {
      refuse(Status::kRequestTimeout, Method::kGet);
    } else {
      closing_ = Closing::kFlush;  // nothing was asked, so there is nothing to answer
    }
  } else if (idle_due() <= time) {
    closing_ = Closing::kFlush;
  } else if (body_due() <= time) {
    fail_content(Status::kRequestTimeout);
  }
  for (Exchange* e = front_; e != nullptr;) {
    Exchange* const following = e->next;
    if (e->handler_due() <= time) {
      replace_answer(*e, Status::kServiceUnavailable);
    } else if (e->wake_due() <= time) {
      e->on_time(time);
    }
    e = following;
  }
  advance();
  rearm();
  engine_.touch(*this);
}

void Connection::begin_drain() {
  if (idle()) since_ = now();  // see kDrainGrace
  rearm();
  engine_.touch(*this);
}

void Connection::cut() {
  for (Exchange* e = front_; e != nullptr; e = e->next) e->request_stop();
  advance();
  if (idle()) closing_ = Closing::kFlush;
  rearm();
  engine_.touch(*this);
}

}  // namespace leantea::app

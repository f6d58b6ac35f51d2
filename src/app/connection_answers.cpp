// Requests become answers, in the order they came, and the last one closes the connection.
#include "app/connection.hpp"
#include "app/exchange.hpp"
#include "app/input_stash.hpp"
#include "http/response_access.hpp"

namespace leantea::app {

void Connection::advance() {
  do {
    send_answers();
  } while (continue_input());
  if (!peer_ended_ || closing_ != Closing::kNo) return;
  // What came before the end may still wait in the stash; only then has content broken off.
  if (input_ == Input::kBody && stash_ == nullptr) {
    break_off_content();
    send_answers();
  }
  if (front_ != nullptr || closing_ != Closing::kNo) return;
  if (stash_ != nullptr && input_waits()) return;
  // The client sends no more, and all that it asked is answered. An incomplete head has no answer.
  drop_stash();
  closing_ = Closing::kFlush;
}

void Connection::send_answers() {
  while (front_ != nullptr && closing_ == Closing::kNo) {
    Exchange& exchange = *front_;
    exchange.become_front();
    if (!exchange.answered()) return;
    if (!exchange.head_sent()) exchange.send_answer(closes_after(exchange));
    if (exchange.broken_off()) {
      // The client must not take what it got for the whole. Where the framing cannot tell, a reset does.
      reset_ = exchange.request().version() == Version::kHttp10;
      abandon_all();
      closing_ = Closing::kFlush;
      end_input();
      return;
    }
    if (!exchange.done()) return;
    if (exchange.closes()) {
      close_after_answer();
      return;
    }
    pop_front();
  }
}

bool Connection::continue_input() {
  if (input_ended() || stash_ == nullptr || input_waits()) return false;
  if (stash_->judged == stash_->view().size())
    return false;  // an incomplete head waits for its rest
  process({});
  return true;
}

bool Connection::closes_after(const Exchange& exchange) const noexcept {
  if (!exchange.keep_alive()) return true;
  // While the server drains, the last request that has come is the last one.
  if (engine_.draining() && exchange.next == nullptr && stash_ == nullptr) return true;
  if (receiving_ != &exchange || exchange.content_complete()) return false;
  // The content was not asked for, or not all of it. A client that waits for 100 may or may not send it
  // now, so where the next request begins cannot be known (RFC 9110 §10.1.1); other content is read and
  // dropped when it is not too much.
  return exchange.expects_continue() ||
         !exchange.content_is_small(engine_.limits().unread_body_bytes);
}

void Connection::pop_front() {
  Exchange* const exchange = front_;
  front_ = exchange->next;
  exchange->next = nullptr;
  --in_progress_;
  if (receiving_ == exchange) {
    exchange->unlist();  // content_ended() deletes it
    exchange->drop_content();
  } else {
    delete exchange;
  }
  since_ = now();
}

void Connection::close_after_answer() {
  const bool more_may_come =
      more_came_ || receiving_ != nullptr || stash_ != nullptr || front_->next != nullptr;
  closing_ = more_may_come && !peer_ended_ ? Closing::kLinger : Closing::kFlush;
  abandon_all();
  end_input();
}

void Connection::abandon_all() noexcept {
  if (receiving_ != nullptr && !receiving_->listed()) Exchange::abandon(receiving_);
  receiving_ = nullptr;
  while (front_ != nullptr) {
    Exchange* const exchange = front_;
    front_ = exchange->next;
    Exchange::abandon(exchange);
  }
  in_progress_ = 0;
  if (input_ == Input::kBody) input_ = Input::kEnded;
}

void Connection::replace_answer(Exchange& exchange, Status status) {
  if (exchange.head_sent()) return;
  exchange.fire_stop();
  if (!exchange.on_worker()) return exchange.answer_instead(error_response(status));
  // The worker still uses the handler: it goes its own way, and another one takes its place.
  Exchange* const replacement = exchange.heir();
  replacement->answer_instead(error_response(status));
  Exchange** place = &front_;
  while (*place != &exchange) place = &(*place)->next;
  *place = replacement;
  if (receiving_ == &exchange) receiving_ = replacement;
  Exchange::abandon(&exchange);
}

void Connection::exchange_moved() {
  advance();
  rearm();
  engine_.touch(*this);
}

}  // namespace leantea::app

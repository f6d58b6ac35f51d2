// Connection: one client, from received bytes to bytes to send. All of HTTP/1.1 between a backend and
// the handlers, without a socket and without a clock.
//
// Who drives whom: a backend drives a Connection; a Connection never calls a backend. All calls come
// from the one thread of its Engine, none from inside another call on the same connection. Between
// calls the backend looks at what the connection wants (the functions under "What it wants").
//
// Invariants:
//  1. bytes lent to receive() are not looked at after it returns;
//  2. bytes shown by output() stay where they are until sent() has taken them;
//  3. memory held is at most Limits::connection_bound(), and an idle connection owns nothing but itself;
//  4. answers leave in the order of their requests, and each request has exactly one, unless the
//     connection ends;
//  5. nothing of a handler runs after the connection is gone.
//
// The driver's loop, the same in every backend:
//
//     received n bytes → receive(); end of stream → receive_end(); error → peer_gone()
//     while wants_output(): send what output() shows, sent(n); error → peer_gone()
//     if wants_write_shutdown(): shut down the sending side, write_shutdown_done()
//     if finished(): close the socket, destroy the connection
//     else: read again if and only if wants_input()
//
// The same is due for every connection that Engine::take_touched() returns: a timer or a handler
// changed what it wants.
#pragma once

#include <sys/uio.h>  // struct iovec only

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <leantea/http.hpp>

#include "app/engine.hpp"
#include "app/exchange.hpp"
#include "app/route_table.hpp"
#include "base/output_queue.hpp"
#include "base/timer_wheel.hpp"
#include "http/request_head.hpp"
#include "http/response_access.hpp"

namespace leantea::app {

struct InputStash;

class Connection : private base::TimerNode {  // the node of its one deadline
 public:
  /// A connection that was just accepted. The engine outlives it.
  explicit Connection(Engine& engine) noexcept;
  /// Allowed at any time between calls; what is unfinished is cancelled.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // ---- What happened ----

  /// Where the backend may put received bytes to save a copy, or an empty span: then it uses a buffer
  /// of its own. After writing n bytes there it calls receive() with that same part of memory.
  std::span<char> receive_space() noexcept;
  /// Bytes came. They are lent for the call only. Allowed also when wants_input() is false (a backend
  /// may have had a receive under way), but then at most what one receive brings.
  void receive(std::string_view bytes) {
    if (bytes.empty()) [[unlikely]]
      return;
    // Once the answer that ends the connection is on its way, what still comes is read and dropped.
    if (input_ended()) [[unlikely]]
      return more_came();
    process(bytes);
    if (quiet()) [[likely]]
      return rearm_quiet();
    advance();
    rearm();
  }
  /// The peer will send no more (FIN). Answers still go out.
  void receive_end();
  /// The peer's FIN was seen before its last bytes were read, as wants_input() is false. Lets handlers
  /// know, as receive_end() does; that one still comes once the bytes are read.
  void end_announced();
  /// The connection is broken (reset, send error): nothing can be delivered any more.
  void peer_gone();
  /// The kernel took the first `bytes` bytes of output().
  void sent(std::size_t bytes) {
    output_.consume(engine_.blocks(), bytes);
    write_since_ = output_.empty() ? 0 : now();
    if (!is_armed()) [[unlikely]]
      go_on_after_output();
  }
  /// The sending side was shut down, as wants_write_shutdown() asked.
  void write_shutdown_done();

  // ---- What it wants ----

  bool wants_output() const noexcept { return !output_.empty(); }
  /// The next bytes to send, as at most `out.size()` pieces.
  base::Pieces output(std::span<struct iovec> out) const noexcept { return output_.gather(out); }
  /// Bytes of output waiting.
  std::size_t output_size() const noexcept { return output_.size(); }
  /// False: do not read from the socket now (back-pressure), or there is nothing to come.
  bool wants_input() const noexcept {
    if (closing_ != Closing::kNo) [[unlikely]]
      return wants_input_while_closing();
    return input_ != Input::kEnded && !peer_ended_ && !input_waits();
  }
  /// True once: all output is delivered and the sending side is to be shut down, so that the peer
  /// sees the end while its own bytes are still read (RFC 9112 §9.6).
  bool wants_write_shutdown() const noexcept {
    return closing_ == Closing::kLinger && output_.empty();
  }
  /// The connection is to end: wants_write_shutdown() or finished() may be true, now or later. Else they are
  /// not.
  bool closing() const noexcept { return closing_ != Closing::kNo; }
  /// True: close the socket and destroy the connection. With reset_on_close() by an RST.
  bool finished() const noexcept {
    return closing_ == Closing::kDone || (closing_ == Closing::kFlush && output_.empty());
  }
  /// True when the peer did not take its answer in time, so that nothing more can be delivered.
  bool reset_on_close() const noexcept { return reset_; }

  /// Nothing waits but, perhaps, output for the client: once that is sent there is nothing to do.
  bool quiet() const noexcept {
    return front_ == nullptr && stash_ == nullptr && receiving_ == nullptr &&
           closing_ == Closing::kNo && !peer_ended_;
  }

  /// Requests that are read and not answered in full.
  std::uint32_t in_progress() const noexcept { return in_progress_; }
  /// A handler of this connection is out on a worker thread.
  bool on_worker() const noexcept;

  /// Where the client is, as the backend knows it; empty when it does not.
  std::string peer() const;

 private:
  friend class Engine;
  friend class Exchange;

  /// What the next byte of input belongs to.
  enum class Input : std::uint8_t { kHead, kBody, kEnded };
  enum class Closing : std::uint8_t {
    kNo,        ///< goes on after the answer
    kFlush,     ///< closes when the output is delivered
    kLinger,    ///< when the output is delivered: shut down sending, read and drop, then close
    kShutDown,  ///< lingering: the sending side is shut down
    kDone,      ///< finished()
  };
  static constexpr base::Millis kNever = INT64_MAX;

  // Input becomes requests (connection_input.cpp). What a small request does not need is kept out of process():
  // above a certain size of it the compiler inlines nothing more, the head parser for one.
  void process(std::string_view bytes);
  [[gnu::noinline]] bool add_to_stash(std::string_view bytes);
  [[gnu::noinline]] void keep(std::string_view rest);
  [[gnu::noinline]] void keep_in_stash(std::size_t taken);
  [[gnu::always_inline]] inline std::string_view take_input(std::string_view in);
  [[gnu::always_inline]] inline bool take_head(std::string_view& in);
  [[gnu::noinline]] std::string_view take_body(std::string_view in);
  [[gnu::always_inline]] inline std::optional<Status> resolve(const http::RequestHead& head,
                                                              Request& request);
  [[gnu::always_inline]] inline void dispatch(const http::RequestHead& head, std::string_view& in);
  static bool take_whole_content(Request& request, h1::Framing& framing,
                                 std::string_view& in) noexcept;
  Response call_plain(Request& request, const Handler& handler) const;
  template <class Call>
  Response checked_answer(const Request& request, Call call) const;
  [[gnu::noinline]] std::optional<Response> ask_head_hook(const Request& request,
                                                          const Route& route) const;
  [[gnu::noinline]] static Response error_response(Status status);
  [[gnu::noinline]] static Response routeless_response(Method method, std::string_view path,
                                                       MethodSet allowed);
  [[gnu::noinline]] void log_failure(const Request& request, std::string_view what) const;
  void replace_broken(const Request& request, Response& response) const;
  [[gnu::always_inline]] inline void answer(Response&& response, Method method, Version version,
                                            bool close);
  [[gnu::noinline]] void respond(const http::RequestHead& head, Request& request,
                                 const RequestFacts& facts, Response&& response);
  [[gnu::noinline]] Exchange& open_exchange(const http::RequestHead& head, const Request& request,
                                            const RequestFacts& facts, Exchange::ContentUse use);
  [[gnu::noinline]] void refuse(Status status, Method method);
  void content_ended();
  void break_off_content();
  void fail_content(Status status);
  /// Input is not taken now: too much output waits, or content, or requests in progress.
  bool input_waits() const noexcept {
    const Limits& limits = engine_.limits();
    if (output_.size() >= limits.output_bytes) [[unlikely]]
      return true;
    if (input_ == Input::kBody) [[unlikely]]
      return receiving_->content_waits();
    return in_progress_ >= limits.requests_in_progress;
  }
  bool wants_input_while_closing() const noexcept;
  void more_came() noexcept;
  void stash_append(std::string_view bytes);
  void drop_stash() noexcept;
  void end_input() noexcept;

  // Requests become answers, in order (connection_answers.cpp).
  void go_on_after_output();
  void advance();
  void send_answers();
  bool continue_input();
  bool closes_after(const Exchange& exchange) const noexcept;
  void pop_front();
  void close_after_answer();
  void abandon_all() noexcept;
  void replace_answer(Exchange& exchange, Status status);
  void exchange_moved();

  // Time (connection_time.cpp).
  static Connection& of_timer(base::TimerNode& node) noexcept {
    return static_cast<Connection&>(node);
  }
  void on_time();
  base::Millis next_due() const noexcept;
  base::Millis head_due() const noexcept;
  base::Millis idle_due() const noexcept;
  base::Millis write_due() const noexcept;
  base::Millis linger_due() const noexcept;
  base::Millis body_due() const noexcept;
  void rearm() noexcept {
    if (quiet()) [[likely]]
      return rearm_quiet();
    begin_write();
    rearm_otherwise();
  }
  /// REQUIRES: quiet().
  void rearm_quiet() noexcept {
    begin_write();
    if (!fires_in_time()) [[unlikely]]
      rearm_otherwise();
  }
  void begin_write() noexcept {
    if (!output_.empty() && write_since_ == 0) write_since_ = now();
  }
  /// The usual case: nothing is in progress, and the node that is set fires before anything can be due. (A
  /// request that is answered at once asks it twice.)
  bool is_armed() const noexcept { return quiet() && fires_in_time(); }
  bool fires_in_time() const noexcept { return is_set() && due <= engine_.quiet_due(); }
  void rearm_otherwise() noexcept;
  void look_for_delivery(base::Millis time);
  void begin_drain();
  void cut();
  base::Millis now() const noexcept { return engine_.now().mono; }
  bool idle() const noexcept;
  /// No request will be read any more.
  bool input_ended() const noexcept { return closing_ != Closing::kNo || input_ == Input::kEnded; }

  // By age of use: the first cache lines are all that a small request touches.
  Engine& engine_;
  base::OutputQueue output_;
  base::Millis since_;            ///< when the present wait for input, or the lingering, began
  base::Millis write_since_ = 0;  ///< when the client last took output; 0: no output waits
  Exchange* front_ = nullptr;     ///< the requests in progress, in order
  InputStash* stash_ = nullptr;   ///< input that could not be taken yet
  std::uint32_t served_ = 0;
  std::uint16_t in_progress_ = 0;
  Input input_ = Input::kHead;
  Closing closing_ = Closing::kNo;
  bool peer_ended_ = false;
  bool reset_ = false;
  bool touched_ = false;
  bool more_came_ = false;         ///< bytes came that no request will be read from
  Exchange* receiving_ = nullptr;  ///< whose content comes; with Input::kBody
  Connection* next_ = nullptr;     ///< all connections of the engine
  Connection* previous_ = nullptr;
  Connection* next_touched_ = nullptr;
};

/// What `call` answers, or a 500 and a line in the log for an exception. `call`'s result is returned
/// without a move: that is 80 instructions of a small request.
template <class Call>
Response Connection::checked_answer(const Request& request, Call call) const {
  try {
    return call();
  } catch (const std::exception& error) {
    log_failure(request, error.what());
  } catch (...) {
    log_failure(request, "an exception that is no std::exception");
  }
  return error_response(Status::kInternalServerError);
}

}  // namespace leantea::app

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
#include <memory>
#include <span>
#include <string_view>

#include <leantea/http.hpp>

#include "app/engine.hpp"
#include "base/output_queue.hpp"
#include "base/timer_wheel.hpp"
#include "h1/body_reader.hpp"

namespace leantea {
class Response;
}

namespace leantea::app {

class Exchange;
struct InputStash;

class Connection {
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
  void receive(std::string_view bytes);
  /// The peer will send no more (FIN). Answers still go out.
  void receive_end();
  /// The connection is broken (reset, send error): nothing can be delivered any more.
  void peer_gone();
  /// The kernel took the first `bytes` bytes of output().
  void sent(std::size_t bytes);
  /// The sending side was shut down, as wants_write_shutdown() asked.
  void write_shutdown_done();

  // ---- What it wants ----

  bool wants_output() const noexcept { return !output_.empty(); }
  /// The next bytes to send, as at most `out.size()` pieces; the number of pieces.
  std::size_t output(std::span<struct iovec> out) const noexcept { return output_.gather(out); }
  /// Bytes of output waiting.
  std::size_t output_size() const noexcept { return output_.size(); }
  /// False: do not read from the socket now (back-pressure), or there is nothing to come.
  bool wants_input() const noexcept;
  /// True once: all output is delivered and the sending side is to be shut down, so that the peer
  /// sees the end while its own bytes are still read (RFC 9112 §9.6).
  bool wants_write_shutdown() const noexcept;
  /// True: close the socket and destroy the connection. With reset_on_close() by an RST.
  bool finished() const noexcept;
  /// True when the peer did not take its answer in time, so that nothing more can be delivered.
  bool reset_on_close() const noexcept { return reset_; }

 private:
  friend class Engine;
  friend class Exchange;

  enum class Input : std::uint8_t { kHead, kBody, kEnded };
  enum class Closing : std::uint8_t {
    kNo,         ///< goes on after the answer
    kFlush,      ///< closes when the output is delivered
    kLinger,     ///< when the output is delivered: shut down sending, read and drop, then close
    kShutDown,   ///< lingering, the sending side is shut down
    kDone,       ///< finished()
  };

  // How input becomes exchanges (connection_input.cpp).
  void process(std::string_view in, bool from_stash);
  void process_stash();
  std::size_t take_input(std::string_view in);
  bool take_head(std::string_view& in);
  bool take_body(std::string_view& in);
  void stash(std::string_view rest);

  Engine& engine_;
  base::OutputQueue output_;
  base::TimerNode timer_;
  h1::BodyReader body_;
  Exchange* front_ = nullptr;
  Exchange* back_ = nullptr;
  InputStash* stash_ = nullptr;
  Connection* next_ = nullptr;
  Connection* previous_ = nullptr;
  Connection* next_touched_ = nullptr;
  bool reset_ = false;
};

}  // namespace leantea::app

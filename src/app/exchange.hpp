// Exchange: one request in progress on a connection, when it needs more than the call that brought it:
// its content is still coming, its handler waits, its answer is streamed or has to wait for its turn.
//
// Owned by its Connection; the engine's thread only. When its connection is gone while its handler is
// out on a worker thread, it belongs to itself (an orphan) until the worker is done. A request that a
// plain handler answers at once never has one.
#pragma once

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include <leantea/request.hpp>
#include <leantea/response.hpp>
#include <leantea/router.hpp>
#include <leantea/task.hpp>

#include "app/worker_pool.hpp"
#include "base/mailbox.hpp"
#include "base/timer_wheel.hpp"
#include "h1/body_reader.hpp"
#include "h1/response_encoder.hpp"
#include "http/request_head.hpp"

namespace leantea::app {

class Connection;
class Engine;

/// What the exchange needs to know about its request beyond the Request itself.
struct RequestFacts {
  h1::Framing framing;
  bool keep_alive = true;         ///< the client wants the connection to go on
  bool expects_continue = false;  ///< Expect: 100-continue, not answered yet
  const Route* route = nullptr;
  const Handler* handler = nullptr;
  std::uint64_t body_limit = 0;  ///< Limits::body_bytes, or the route's
};

class Exchange {
 public:
  /// What becomes of the content that comes.
  enum class ContentUse : std::uint8_t { kCollect, kStream, kDrop };

  /// Copies the head, the path and what else `request` shows, so that it may outlive the bytes it came in.
  Exchange(Connection& connection, const http::RequestHead& head, const Request& request,
           const RequestFacts& facts, ContentUse use);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // ---- The content of the request ----

  bool content_complete() const noexcept { return content_complete_; }
  h1::BodyReader& body_reader() noexcept { return body_reader_; }
  std::string& trailers() noexcept { return trailers_; }
  ContentUse content_use() const noexcept { return use_; }
  /// Content beyond what the limits allow: 413.
  bool content_too_large(std::uint64_t more) const noexcept;
  /// Takes content in. Resumes a handler that waits for it.
  void add_content(std::string_view bytes);
  /// Where content may be received without a copy; empty when that does not pay.
  std::span<char> content_space();
  /// All content is there. Starts a plain handler, or resumes one that waits for the end.
  void end_content();
  /// What is left of the content is known to be no more than `bytes`, or not known at all.
  bool content_is_small(std::uint64_t bytes) const noexcept {
    return body_reader_.chunked() || body_reader_.left() <= bytes;
  }
  /// True: no content is wanted until the handler has taken what waits.
  bool content_waits() const noexcept;
  /// What comes from now on is read and dropped: the answer did not need it.
  void drop_content() noexcept;
  /// No more content will come, although it has not ended. An answer that is being made from it breaks off where
  /// it asks for more, now or later. REQUIRES: answered().
  void content_broke_off() noexcept;

  // ---- The handler ----

  /// Begins: runs the handler up to where it first waits, or asks for the content a plain one needs.
  void start();
  /// The answer is there (possibly streamed, not begun).
  bool answered() const noexcept { return response_.has_value(); }
  /// All of the answer is in the connection's output.
  bool done() const noexcept { return stage_ == Stage::kDone; }
  bool head_sent() const noexcept { return stage_ >= Stage::kStreaming; }
  /// The answer broke off after its head was sent: the connection must end without completing it.
  bool broken_off() const noexcept { return broken_off_; }
  /// Answers in place of the handler, which is destroyed; content that still comes is dropped. REQUIRES:
  /// !on_worker(), !head_sent().
  void answer_instead(Response response);
  /// Another exchange for the same request, in the same place of the content and of the list.
  Exchange* heir() const;
  /// It is this exchange's turn: sends what was held back, and asks for content where that was asked for.
  void become_front();
  /// Encodes the answer into the connection's output and starts a streamed body. REQUIRES: answered(), it
  /// is the front.
  void send_answer(bool close);
  /// The connection ends after this answer.
  bool closes() const noexcept { return close_; }
  void close() noexcept { close_ = true; }
  /// On its connection's list of requests in progress. False: its answer is out, content is dropped.
  bool listed() const noexcept { return listed_; }
  void unlist() noexcept { listed_ = false; }
  /// Goes on with a streamed body that waited for the client. Called when output was taken.
  void output_drained();

  /// Fires the stop token.
  void fire_stop();
  /// Fires the stop token and wakes the handler where it sleeps, so that it may end in its own way.
  void request_stop();
  bool on_worker() const noexcept { return wait_ == Wait::kWorker; }
  /// The handler is under way, not answered.
  bool running() const noexcept { return stage_ == Stage::kRunning; }
  /// When a sleep is over, INT64_MAX when the handler does not sleep.
  base::Millis wake_due() const noexcept { return wake_at_; }
  /// When the handler's time is up, INT64_MAX when it does not run.
  base::Millis handler_due() const noexcept { return handler_due_; }
  /// When the client has been too slow with content that is asked for, INT64_MAX when it is not.
  base::Millis content_due() const noexcept;
  /// Resumes a sleep that is over.
  void on_time(base::Millis time);

  /// The connection is gone, or does not want it any more. Destroys it, or lets it go as an orphan.
  static void abandon(Exchange* exchange) noexcept;

  // ---- For awaiters (request.cpp, writer.cpp) ----

  bool chunk_ready() const;
  std::optional<std::string_view> take_chunk();
  void wait_for_chunk(std::coroutine_handle<> waiting);
  void wait_for_body(std::coroutine_handle<> waiting);
  bool body_ready();
  std::string_view take_read_body() noexcept;
  void wait_for_sleep(std::coroutine_handle<> waiting, std::chrono::nanoseconds duration);
  bool slept_in_full() const noexcept { return slept_in_full_; }
  void wait_for_worker(std::coroutine_handle<> waiting, detail::OffloadJob& job);
  bool try_write(std::string_view bytes);
  void wait_for_output(std::coroutine_handle<> waiting) noexcept;
  std::expected<void, FieldError> add_trailer(std::string_view name, std::string_view value);
  std::expected<void, FieldError> early_hints(std::initializer_list<Field> fields);
  std::stop_token stop_token();
  Content take_body();
  Request& request() noexcept { return request_; }
  const RequestFacts& facts() const noexcept { return facts_; }
  /// False: no further request is read after this one.
  bool keep_alive() const noexcept { return facts_.keep_alive && !close_; }
  bool expects_continue() const noexcept { return facts_.expects_continue; }

  Exchange* next = nullptr;  ///< the one that came after it on the same connection

 private:
  static constexpr base::Millis kNever = INT64_MAX;

  enum class Stage : std::uint8_t {
    kCollecting,  ///< content comes, the handler has not started
    kRunning,     ///< the handler is under way
    kAnswered,    ///< response_ is there, its head not sent
    kStreaming,   ///< the head is sent, the producer runs
    kDone,
  };
  enum class Wait : std::uint8_t { kNothing, kChunk, kBody, kSleep, kWorker, kOutput };

  /// The way of an offloaded job: through the pool, then through the loop's mailbox, home.
  struct Errand final : WorkItem, base::MailItem {
    Exchange* exchange = nullptr;
    detail::OffloadJob* job = nullptr;
    Engine* engine = nullptr;
    std::atomic<bool> cancelled{false};
    void run() noexcept override;
    void deliver() override;
  };

  void copy_head(const http::RequestHead& head, const Request& request);
  void grow_content(std::size_t more);
  void start_handler();
  void ask_for_content();
  void wait_for_content(Wait what, std::coroutine_handle<> waiting);
  void hold_back(std::string_view interim);
  void wait(Wait what, std::coroutine_handle<> waiting) noexcept;
  void resume();
  void resume_if(Wait what);
  void after_resume();
  void finish_handler();
  void set_answer(Response response);
  void start_producer(std::unique_ptr<detail::Producer> producer);
  void finish_stream();
  void break_off(std::string_view why);
  void came_home();
  void write_pieces();
  base::Millis now() const noexcept;

  Connection* connection_;  ///< null: an orphan
  Engine& engine_;
  RequestFacts facts_;
  Request request_;
  http::RequestHead head_;
  std::unique_ptr<char[]> head_memory_;

  ContentUse use_;
  Stage stage_ = Stage::kCollecting;
  Wait wait_ = Wait::kNothing;
  bool content_complete_ = false;
  bool content_broken_ = false;  ///< see content_broke_off()
  bool slept_in_full_ = true;
  bool broken_off_ = false;
  bool close_ = false;
  bool is_front_ = false;
  bool listed_ = true;
  bool stop_requested_ = false;
  h1::BodyReader body_reader_;
  std::uint64_t received_ = 0;
  base::Millis asked_since_ = 0;    ///< since when the client is asked for content, without a pause
  base::Millis content_since_ = 0;  ///< when content came last, or was first asked for
  std::uint64_t received_since_ = 0;  ///< content since asked_since_
  std::size_t content_size_ = 0;      ///< bytes of content_ that are content (see content_space)
  std::string content_;               ///< collected, or waiting for next_chunk()
  std::string chunk_;                 ///< what next_chunk() showed last
  std::string trailers_;
  std::string held_back_;  ///< interim responses that wait for their turn

  std::coroutine_handle<> waiting_;
  base::Millis wake_at_ = kNever;
  base::Millis handler_due_ = kNever;
  std::string_view to_write_;  ///< what a suspended write has left; lives in its caller
  Errand errand_;
  std::optional<std::stop_source> stop_;

  h1::BodyCoding coding_ = h1::BodyCoding::kComplete;
  std::uint64_t stream_left_ = 0;
  std::string answer_trailers_;
  std::optional<Response> response_;
  std::unique_ptr<detail::Producer> producer_;
  Writer writer_;
  Task<Response> handler_task_;
  Task<void> producer_task_;
};

}  // namespace leantea::app

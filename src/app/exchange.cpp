#include "app/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "app/application.hpp"
#include "app/connection.hpp"
#include "app/engine.hpp"
#include "base/assert.hpp"
#include "http/ascii.hpp"
#include "http/field_check.hpp"
#include "http/response_access.hpp"

namespace leantea::app {

namespace {

// Content of known length is received in place from here on: below it, the loop's buffer and one copy are
// as fast, and the memory is only taken when the client has shown that it sends.
constexpr std::size_t kDirectBytes = 32 * 1024;

// A streamed write goes into the output in pieces of at most this, so that output_bytes is passed by no
// more than one piece.
constexpr std::size_t kPieceBytes = 16 * 1024;

bool within(std::string_view part, const char* begin, std::size_t size) noexcept {
  const std::less_equal<const char*> not_after;
  return not_after(begin, part.data()) && not_after(part.data() + part.size(), begin + size);
}

}  // namespace

Exchange::Exchange(Connection& connection, const http::RequestHead& head, const Request& request,
                   const RequestFacts& facts, ContentUse use)
    : connection_(&connection),
      engine_(connection.engine_),
      facts_(facts),
      use_(use),
      content_complete_(facts.framing.kind == h1::Framing::Kind::kNone),
      writer_(*this) {
  copy_head(head, request);
  errand_.exchange = this;
  errand_.engine = &engine_;
  content_since_ = now();
  if (!content_complete_) body_reader_.start(facts.framing);
}

Exchange::~Exchange() {
  // The tasks first: they refer to the rest.
  producer_task_.reset();
  handler_task_.reset();
}

void Exchange::copy_head(const http::RequestHead& head, const Request& request) {
  const std::size_t fields_bytes = head.field_count * sizeof(http::FieldPlace);
  const bool path_elsewhere = !within(request.path_, head.bytes, head.size);
  const std::size_t path_bytes = path_elsewhere ? request.path_.size() : 0;
  head_memory_ = std::make_unique_for_overwrite<char[]>(fields_bytes + head.size + path_bytes);
  char* const fields = head_memory_.get();
  char* const bytes = fields + fields_bytes;
  char* const path = bytes + head.size;
  if (fields_bytes != 0) std::memcpy(fields, head.fields, fields_bytes);
  if (head.size != 0) std::memcpy(bytes, head.bytes, head.size);
  if (path_bytes != 0) std::memcpy(path, request.path_.data(), path_bytes);

  head_ = head;
  head_.bytes = bytes;
  head_.fields = reinterpret_cast<http::FieldPlace*>(fields);

  const auto moved = [&](std::string_view view) -> std::string_view {
    if (view.empty()) return {};
    if (within(view, head.bytes, head.size))
      return {bytes + (view.data() - head.bytes), view.size()};
    if (within(view, request.path_.data(), request.path_.size()))
      return {path + (view.data() - request.path_.data()), view.size()};
    return view;  // static
  };
  request_.head_ = &head_;
  request_.exchange_ = this;
  request_.connection_ = connection_;
  request_.path_ = moved(request.path_);
  request_.query_ = moved(request.query_);
  request_.authority_ = moved(request.authority_);
  request_.method_ = request.method_;
  request_.version_ = request.version_;
  request_.params_.count = request.params_.count;
  for (std::size_t i = 0; i < request.params_.count; ++i)
    request_.params_.items[i] = {request.params_.items[i].name,
                                 moved(request.params_.items[i].value)};
}

base::Millis Exchange::now() const noexcept { return engine_.now().mono; }

// ---- The content of the request ----

bool Exchange::content_too_large(std::uint64_t more) const noexcept {
  const std::uint64_t bound = use_ == ContentUse::kDrop
                                  ? std::uint64_t{engine_.limits().unread_body_bytes}
                                  : facts_.body_limit;
  return more > bound || received_ > bound - more;
}

void Exchange::add_content(std::string_view bytes) {
  facts_.expects_continue = false;  // the client did not wait
  received_ += bytes.size();
  received_since_ += bytes.size();
  content_since_ = now();
  if (use_ == ContentUse::kDrop) return;
  if (bytes.data() == content_.data() + content_size_) {  // received in place, see content_space()
    content_size_ += bytes.size();
    return;
  }
  if (content_size_ + bytes.size() > content_.capacity()) grow_content(bytes.size());
  content_.resize(content_size_);
  content_.append(bytes);
  content_size_ = content_.size();
  resume_if(Wait::kChunk);
}

/// Makes room for `more` bytes behind the content. By doubling, but for no more than may come: the bound of a
/// connection's memory counts on it. (A string that is asked to reserve more doubles its capacity.)
void Exchange::grow_content(std::size_t more) {
  const std::size_t wanted = content_size_ + more;
  std::uint64_t most = facts_.body_limit;
  if (use_ == ContentUse::kStream)
    most = std::min<std::uint64_t>(most, engine_.limits().body_buffer_bytes);
  std::size_t room =
      std::max(wanted, static_cast<std::size_t>(std::min<std::uint64_t>(wanted * 2, most)));
  // What is known to come is taken in one piece, but only once the client has shown that it sends.
  if (!body_reader_.chunked() && wanted >= kDirectBytes && use_ == ContentUse::kCollect)
    room = wanted + static_cast<std::size_t>(body_reader_.left());
  std::string larger;
  larger.reserve(room);
  larger.append(content_, 0, content_size_);
  content_ = std::move(larger);
}

std::span<char> Exchange::content_space() {
  if (use_ != ContentUse::kCollect || body_reader_.chunked() || content_size_ < kDirectBytes)
    return {};
  const std::size_t space = content_.capacity() - content_size_;
  if (space < kDirectBytes / 2 || space < body_reader_.left()) return {};
  content_.resize_and_overwrite(content_.capacity(), [](char*, std::size_t n) { return n; });
  return {content_.data() + content_size_, static_cast<std::size_t>(body_reader_.left())};
}

void Exchange::end_content() {
  content_complete_ = true;
  facts_.expects_continue = false;
  if (use_ == ContentUse::kDrop) return;
  content_.resize(content_size_);
  if (stage_ == Stage::kCollecting) {
    request_.body_ = content_;
    start_handler();
    return;
  }
  resume_if(Wait::kChunk);
  resume_if(Wait::kBody);
}

bool Exchange::content_waits() const noexcept {
  return use_ == ContentUse::kStream && content_size_ >= engine_.limits().body_buffer_bytes;
}

void Exchange::drop_content() noexcept {
  use_ = ContentUse::kDrop;
  received_ = 0;  // unread_body_bytes counts from here
  content_since_ = asked_since_ = now();
  received_since_ = 0;
  // A handler that is still streaming its answer may be looking at what it was shown.
  if (stage_ != Stage::kStreaming) {
    content_ = {};
    content_size_ = 0;
  }
}

/// That its client sends no more is no fault of the handler: nothing is logged, unlike in break_off().
void Exchange::content_broke_off() noexcept {
  content_broken_ = true;
  if (wait_ == Wait::kChunk || wait_ == Wait::kBody) broken_off_ = true;
}

base::Millis Exchange::content_due() const noexcept {
  if (content_complete_) return kNever;
  if (use_ == ContentUse::kStream && wait_ != Wait::kChunk)
    return kNever;  // the handler takes its time
  const Limits& limits = engine_.limits();
  auto timeout = limits.body_timeout;
  if (facts_.route != nullptr)
    timeout = RouterAccess::limits(*facts_.route).body_timeout.value_or(timeout);
  if (timeout.count() == 0) return kNever;
  const base::Millis silent = content_since_ + timeout.count();
  if (limits.body_min_rate == 0 || use_ == ContentUse::kDrop) return silent;
  // The average rate falls below the least one when more time has passed than the bytes are worth.
  const auto worth = static_cast<base::Millis>(received_since_ * 1000 / limits.body_min_rate);
  return std::min(silent, asked_since_ + std::max<base::Millis>(timeout.count(), worth));
}

void Exchange::ask_for_content() {
  if (content_complete_) return;
  content_since_ = asked_since_ = now();
  received_since_ = 0;
  if (!facts_.expects_continue) return;
  facts_.expects_continue = false;
  hold_back(h1::encode_interim(Status::kContinue, {}));
}

/// An interim response may leave only when all earlier answers have.
void Exchange::hold_back(std::string_view interim) {
  held_back_.append(interim);
  if (is_front_) become_front();
}

void Exchange::become_front() {
  is_front_ = true;
  if (held_back_.empty()) return;
  connection_->output_.append(engine_.blocks(), held_back_);
  held_back_.clear();
}

// ---- The handler ----

void Exchange::start() {
  if (use_ == ContentUse::kCollect && !content_complete_) return ask_for_content();
  start_handler();
}

void Exchange::start_handler() {
  if (facts_.handler->plain()) {
    set_answer(connection_->call_plain(request_, *facts_.handler));
    return;
  }
  stage_ = Stage::kRunning;
  auto timeout = engine_.limits().handler_timeout;
  if (facts_.route != nullptr)
    timeout = RouterAccess::limits(*facts_.route).handler_timeout.value_or(timeout);
  if (timeout.count() != 0) handler_due_ = now() + timeout.count();
  // A handler that is no coroutine itself may throw here, or return a task that was moved from.
  bool started = false;
  Response failure = connection_->checked_answer(request_, [&]() -> Response {
    handler_task_ = facts_.handler->start(request_);
    if (!handler_task_) throw std::logic_error("the handler returned an empty task");
    started = true;
    return Response{};
  });
  if (!started) return answer_instead(std::move(failure));
  handler_task_.handle().promise().exchange = this;
  handler_task_.handle().resume();
  after_resume();
}

void Exchange::wait(Wait what, std::coroutine_handle<> waiting) noexcept {
  LEANTEA_ASSERT(wait_ == Wait::kNothing);  // one thing at a time; see Task
  wait_ = what;
  waiting_ = waiting;
}

void Exchange::resume() {
  wait_ = Wait::kNothing;
  wake_at_ = kNever;
  std::exchange(waiting_, {}).resume();
  after_resume();
}

void Exchange::resume_if(Wait what) {
  if (wait_ == what) resume();
}

void Exchange::after_resume() {
  if (stage_ == Stage::kRunning && handler_task_.handle().done()) finish_handler();
  if (stage_ == Stage::kStreaming && producer_task_ && producer_task_.handle().done())
    finish_stream();
}

void Exchange::finish_handler() {
  handler_due_ = kNever;
  set_answer(connection_->checked_answer(
      request_, [&]() -> Response { return handler_task_.handle().promise().take(); }));
  handler_task_.reset();
}

void Exchange::answer_instead(Response response) {
  LEANTEA_ASSERT(!on_worker() && !head_sent());
  handler_task_.reset();
  waiting_ = {};
  wait_ = Wait::kNothing;
  wake_at_ = handler_due_ = kNever;
  set_answer(std::move(response));
  drop_content();
}

/// Keeps an answer until its turn, which may come after what it borrowed is gone.
void Exchange::set_answer(Response response) {
  response_.emplace(std::move(response));
  connection_->replace_broken(request_, *response_);
  detail::ResponseAccess::keep(*response_);
  stage_ = Stage::kAnswered;
}

Exchange* Exchange::heir() const {
  auto* const heir = new Exchange(*connection_, head_, request_, facts_, ContentUse::kDrop);
  heir->body_reader_ = body_reader_;
  heir->trailers_ = trailers_;
  heir->content_complete_ = content_complete_;
  heir->close_ = close_;
  heir->is_front_ = is_front_;
  heir->held_back_ = held_back_;
  heir->next = next;
  return heir;
}

void Exchange::send_answer(bool close) {
  Response& response = *response_;
  std::unique_ptr<detail::Producer> producer;
  if (response.streamed()) {
    stream_left_ = detail::ResponseAccess::stream_length(response).value_or(0);
    producer = detail::ResponseAccess::take_producer(response);
  }
  const h1::AnswerContext context{.version = request_.version_,
                                  .head = request_.method_ == Method::kHead,
                                  .close = close,
                                  .date_line = engine_.date_line()};
  const h1::Encoded encoded =
      h1::encode_response(std::move(response), context, engine_.blocks(), connection_->output_);
  close_ = encoded.close;
  coding_ = encoded.coding;
  if (coding_ == h1::BodyCoding::kComplete) {
    stage_ = Stage::kDone;
    return;
  }
  stage_ = Stage::kStreaming;
  start_producer(std::move(producer));
}

void Exchange::start_producer(std::unique_ptr<detail::Producer> producer) {
  producer_ = std::move(producer);
  try {
    producer_task_ = producer_->start(writer_);
  } catch (const std::exception& error) {
    return break_off(error.what());
  } catch (...) {
    return break_off("an exception that is no std::exception");
  }
  if (!producer_task_) return break_off("it returned no task");
  producer_task_.handle().promise().exchange = this;
  producer_task_.handle().resume();
  after_resume();
}

void Exchange::finish_stream() {
  try {
    producer_task_.handle().promise().take();
  } catch (const std::exception& error) {
    return break_off(error.what());
  } catch (...) {
    return break_off("an exception that is no std::exception");
  }
  if (coding_ == h1::BodyCoding::kLength && stream_left_ != 0)
    return break_off("it wrote less than the length it gave");
  if (coding_ == h1::BodyCoding::kChunked)
    h1::encode_last_chunk(answer_trailers_, engine_.blocks(), connection_->output_);
  producer_task_.reset();
  stage_ = Stage::kDone;
}

void Exchange::break_off(std::string_view why) {
  broken_off_ = true;
  std::string line{to_string(request_.method_)};
  line.append(" ").append(request_.target()).append(": streamed answer broken off: ").append(why);
  engine_.shared().application.log(line);
}

void Exchange::output_drained() {
  if (wait_ != Wait::kOutput || connection_->output_.size() > engine_.limits().output_bytes / 2)
    return;
  write_pieces();
  if (to_write_.empty()) resume();
}

void Exchange::write_pieces() {
  base::OutputQueue& output = connection_->output_;
  while (!to_write_.empty() && output.size() < engine_.limits().output_bytes) {
    const std::string_view piece = to_write_.substr(0, kPieceBytes);
    if (coding_ == h1::BodyCoding::kChunked) {
      h1::encode_chunk(piece, engine_.blocks(), output);
    } else {
      output.append(engine_.blocks(), piece);
    }
    to_write_.remove_prefix(piece.size());
  }
}

void Exchange::fire_stop() {
  stop_requested_ = true;
  if (stop_) stop_->request_stop();
}

void Exchange::request_stop() {
  fire_stop();
  if (wait_ != Wait::kSleep) return;
  slept_in_full_ = false;
  resume();
}

void Exchange::on_time(base::Millis time) {
  if (wait_ == Wait::kSleep && wake_at_ <= time) resume();
}

void Exchange::abandon(Exchange* exchange) noexcept {
  exchange->fire_stop();
  if (!exchange->on_worker()) {
    delete exchange;
    return;
  }
  exchange->connection_ = nullptr;
  exchange->request_.connection_ = nullptr;
  exchange->next = nullptr;
  exchange->errand_.cancelled.store(true, std::memory_order_relaxed);
  ++exchange->engine_.orphans_;
}

void Exchange::Errand::run() noexcept {
  if (!cancelled.load(std::memory_order_relaxed)) job->run();
  engine->post(*this);
}

void Exchange::Errand::deliver() { exchange->came_home(); }

void Exchange::came_home() {
  if (connection_ == nullptr) {
    --engine_.orphans_;
    delete this;
    return;
  }
  Connection& connection = *connection_;
  resume();
  connection.exchange_moved();
}

// ---- For awaiters ----

bool Exchange::chunk_ready() const { return content_size_ != 0 || content_complete_; }

std::optional<std::string_view> Exchange::take_chunk() {
  if (!request_.body_.empty()) return std::nullopt;  // read_body() gave it, and body() shows it
  content_.resize(content_size_);
  chunk_.clear();
  std::swap(chunk_, content_);
  content_size_ = 0;
  if (chunk_.empty()) return std::nullopt;
  return chunk_;
}

/// A streamed answer that asks when no more can come waits to be destroyed.
void Exchange::wait_for_content(Wait what, std::coroutine_handle<> waiting) {
  wait(what, waiting);
  if (content_broken_) {
    broken_off_ = true;
  } else {
    ask_for_content();
  }
}

void Exchange::wait_for_chunk(std::coroutine_handle<> waiting) {
  wait_for_content(Wait::kChunk, waiting);
}

bool Exchange::body_ready() {
  if (use_ == ContentUse::kStream) use_ = ContentUse::kCollect;
  return content_complete_;
}

void Exchange::wait_for_body(std::coroutine_handle<> waiting) {
  wait_for_content(Wait::kBody, waiting);
}

std::string_view Exchange::take_read_body() noexcept {
  request_.body_ = {content_.data(), content_size_};
  return request_.body_;
}

void Exchange::wait_for_sleep(std::coroutine_handle<> waiting, std::chrono::nanoseconds duration) {
  wait(Wait::kSleep, waiting);
  slept_in_full_ = true;
  wake_at_ = now() + std::max<base::Millis>(
                         std::chrono::ceil<std::chrono::milliseconds>(duration).count(), 0);
  if (!stop_requested_) return;
  slept_in_full_ = false;  // stopped already: it wakes at the next turn
  wake_at_ = now();
}

void Exchange::wait_for_worker(std::coroutine_handle<> waiting, detail::OffloadJob& job) {
  wait(Wait::kWorker, waiting);
  errand_.job = &job;
  errand_.cancelled.store(false, std::memory_order_relaxed);
  engine_.shared().workers.submit(errand_);
}

bool Exchange::try_write(std::string_view bytes) {
  if (coding_ == h1::BodyCoding::kLength) {
    if (bytes.size() > stream_left_) {
      break_off("it wrote more than the length it gave");
      return false;  // and is destroyed where it waits
    }
    stream_left_ -= bytes.size();
  }
  to_write_ = bytes;
  write_pieces();
  return to_write_.empty();
}

void Exchange::wait_for_output(std::coroutine_handle<> waiting) noexcept {
  wait(Wait::kOutput, waiting);
}

std::expected<void, FieldError> Exchange::add_trailer(std::string_view name,
                                                      std::string_view value) {
  value = http::trim_ows(value);
  if (auto checked = http::check_field(name, value); !checked) return checked;
  const bool wanted =
      http::list_has(head_.find(http::FieldName::kTe).value_or(std::string_view{}), "trailers");
  if (wanted) answer_trailers_.append(name).append(": ").append(value).append("\r\n");
  return {};
}

std::expected<void, FieldError> Exchange::early_hints(std::initializer_list<Field> fields) {
  std::string lines;
  for (const Field& field : fields) {
    if (auto checked = http::check_field(field.name, field.value); !checked) return checked;
    lines.append(field.name).append(": ").append(field.value).append("\r\n");
  }
  if (request_.version_ == Version::kHttp11 && !head_sent())
    hold_back(h1::encode_interim(Status::kEarlyHints, lines));
  return {};
}

std::stop_token Exchange::stop_token() {
  if (!stop_) stop_.emplace();
  if (stop_requested_) stop_->request_stop();
  return stop_->get_token();
}

Content Exchange::take_body() {
  request_.body_ = {};
  content_.resize(content_size_);
  content_size_ = 0;
  return Content{std::exchange(content_, {})};
}

}  // namespace leantea::app

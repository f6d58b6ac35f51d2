// Input becomes requests: heads are parsed in place in the lent bytes, plain handlers are called at once,
// and only what needs more than this call is copied into an Exchange.
#include "app/application.hpp"
#include "app/connection.hpp"
#include "app/exchange.hpp"
#include "app/input_stash.hpp"
#include "h1/framing.hpp"
#include "h1/head_parser.hpp"
#include "http/ascii.hpp"
#include "http/response_access.hpp"
#include "http/target.hpp"

namespace leantea::app {

namespace {

/// What Expect asks for: RFC 9110 §10.1.1 knows one expectation, others are answered 417. In HTTP/1.0 the
/// field means nothing.
enum class Expectation : std::uint8_t { kNone, kContinue, kUnknown };

Expectation expectation_of(const http::RequestHead& head) noexcept {
  if (!head.present.has(http::FieldName::kExpect) || head.version == Version::kHttp10)
    return Expectation::kNone;
  for (const http::FieldPlace& field : head.field_places()) {
    if (field.name != http::FieldName::kExpect) continue;
    std::string_view list = head.value(field);
    while (!list.empty()) {
      const std::string_view member = http::next_member(list);
      if (!member.empty() && !http::equal_ignoring_case(member, "100-continue"))
        return Expectation::kUnknown;
    }
  }
  return Expectation::kContinue;
}

/// No byte has come behind this request, as far as can be told before its content is read.
bool nothing_behind(const h1::Framing& framing, std::string_view in) noexcept {
  return framing.kind != h1::Framing::Kind::kChunked && in.size() <= framing.length;
}

/// OPTIONS for the server as a whole (RFC 9110 §9.3.7).
constexpr MethodSet kServerMethods =
    1u << static_cast<unsigned>(Method::kGet) | 1u << static_cast<unsigned>(Method::kHead) |
    1u << static_cast<unsigned>(Method::kPost) | 1u << static_cast<unsigned>(Method::kPut) |
    1u << static_cast<unsigned>(Method::kDelete) | 1u << static_cast<unsigned>(Method::kOptions) |
    1u << static_cast<unsigned>(Method::kPatch);

Response options_response(MethodSet methods) {
  Response response{Status::kNoContent};
  response.header("Allow", allow_value(methods));
  return response;
}

}  // namespace

// ---- The way of a small request ----
//
// From received bytes to the answer's bytes, leaves first, all inlined into process(): the frames of six
// functions would be a tenth of the instructions. There is one copy of it, for fresh input and for the stash:
// with two the compiler keeps the parser, the router and the encoder out of line, which costs 70.

void Connection::answer(Response&& response, Method method, Version version, bool close) {
  const h1::AnswerContext context{.version = version,
                                  .head = method == Method::kHead,
                                  .close = close,
                                  .date_line = engine_.date_line()};
  if (h1::encode_response_inline(std::move(response), context, engine_.blocks(), output_).close)
      [[unlikely]]
    closing_ = more_came_ ? Closing::kLinger : Closing::kFlush;
}

/// Says in `request` what it is for, or what is wrong with its target or Host (RFC 9112 §3.2).
std::optional<Status> Connection::resolve(const http::RequestHead& head, Request& request) {
  if (head.plain_path) [[likely]] {
    request.path_ = head.target();
  } else {
    const std::span<char> scratch = engine_.scratch_path();
    const auto target =
        http::resolve_target(head.method, head.target(), scratch.data(), scratch.size());
    if (!target) [[unlikely]]
      return target.error();
    request.path_ = target->path;
    request.query_ = target->query;
    request.authority_ = target->authority;
  }
  if (!head.present.has(http::FieldName::kHost)) [[unlikely]]
    return std::nullopt;
  const std::string_view host = head.first_value(http::FieldName::kHost);
  if (!engine_.host_check().valid(host)) [[unlikely]]
    return Status::kBadRequest;
  // RFC 9112 §3.2.2: the authority of an absolute-form overrides Host.
  if (request.authority_.empty()) [[likely]]
    request.authority_ = host;
  return std::nullopt;
}

void Connection::dispatch(const http::RequestHead& head, std::string_view& in) {
  const auto decided = h1::decide_framing(head);
  if (!decided) [[unlikely]]
    return refuse(decided.error(), head.method);
  h1::Framing framing = *decided;
  Request request{head, head.method, head.version, *this};
  if (const auto wrong = resolve(head, request)) [[unlikely]]
    return refuse(*wrong, head.method);

  const Limits& limits = engine_.limits();
  ++served_;
  bool keep_alive = h1::wants_keep_alive(head) && (limits.requests_per_connection == 0 ||
                                                   served_ < limits.requests_per_connection);
  // While the server drains, the last request that has come is the last one.
  if (engine_.draining() && nothing_behind(framing, in)) [[unlikely]]
    keep_alive = false;

  const Expectation expectation = expectation_of(head);
  const Application& application = engine_.shared().application;
  const RouteTable::Match match =
      application.routes().match(request.method_, request.path_, request.params_);
  const Handler* handler = nullptr;
  std::uint64_t body_limit = limits.body_bytes;
  if (match.route != nullptr) [[likely]] {
    handler = &RouterAccess::handler(*match.route);
    body_limit = RouterAccess::limits(*match.route).body_bytes.value_or(body_limit);
  } else if (match.allowed == 0 && head.method != Method::kOptions &&
             head.method != Method::kConnect) {
    handler = application.not_found();
  }

  // A request that is answered at once does not need them in one place. (Out of line, what it captures would
  // have to lie in memory.)
  const auto facts = [&] [[gnu::always_inline]] () -> RequestFacts {
    return {.framing = framing,
            .keep_alive = keep_alive,
            .expects_continue = expectation == Expectation::kContinue &&
                                framing.kind != h1::Framing::Kind::kNone && in.empty(),
            .route = match.route,
            .handler = handler,
            .body_limit = body_limit};
  };
  if (expectation == Expectation::kUnknown) [[unlikely]]
    return respond(head, request, facts(), error_response(Status::kExpectationFailed));
  if (handler == nullptr) [[unlikely]]
    return respond(head, request, facts(),
                   routeless_response(head.method, request.path_, match.allowed));
  if (framing.kind == h1::Framing::Kind::kLength && framing.length > body_limit) [[unlikely]]
    return respond(head, request, facts(), error_response(Status::kContentTooLarge));
  if (match.route != nullptr && RouterAccess::head_hook(*match.route)) [[unlikely]] {
    if (auto refusal = ask_head_hook(request, *match.route))
      return respond(head, request, facts(), std::move(*refusal));
  }
  if (handler->plain() && take_whole_content(request, framing, in)) [[likely]] {
    Response response = call_plain(request, *handler);
    if (front_ != nullptr || !detail::ResponseAccess::plain(response)) [[unlikely]]
      return respond(head, request, facts(), std::move(response));
    answer(std::move(response), request.method_, request.version_, !keep_alive);
    since_ = now();
    return;
  }
  open_exchange(head, request, facts(),
                handler->plain() ? Exchange::ContentUse::kCollect : Exchange::ContentUse::kStream)
      .start();
}

bool Connection::take_head(std::string_view& in) {
  http::RequestHead& head = engine_.scratch_head();
  head.method = Method::kGet;  // what an error before the method is answered as
  const h1::HeadResult result = h1::parse_head(in, engine_.limits(), head);
  if (result.kind == h1::HeadResult::Kind::kComplete) [[likely]] {
    in.remove_prefix(result.consumed);
    dispatch(head, in);
    return true;
  }
  if (result.kind == h1::HeadResult::Kind::kIncomplete) return false;
  in = {};
  refuse(result.error, head.method);
  return true;
}

/// Takes requests off `in`, and returns the bytes that must be kept: an incomplete head, or what waits.
/// REQUIRES: !in.empty() && !input_ended().
std::string_view Connection::take_input(std::string_view in) {
  for (;;) {
    if (input_waits()) [[unlikely]]
      return in;
    if (input_ == Input::kBody) [[unlikely]] {
      in = take_body(in);
    } else if (!take_head(in)) [[unlikely]] {
      return in;
    }
    if (in.empty()) [[likely]]
      return in;
    if (input_ended()) [[unlikely]] {
      more_came();
      return {};
    }
  }
}

/// Takes what came, or with no bytes what waits in the stash. REQUIRES: !input_ended().
void Connection::process(std::string_view bytes) {
  std::string_view in = bytes;
  const bool stashed = stash_ != nullptr;
  if (stashed) [[unlikely]] {
    if (!bytes.empty() && !add_to_stash(bytes)) return;
    in = stash_->view();
  }
  const std::string_view rest = take_input(in);
  if (stashed) [[unlikely]] {
    keep_in_stash(in.size() - rest.size());
  } else if (!rest.empty()) [[unlikely]] {
    keep(rest);
  }
}

// ---- What cannot be taken yet ----

/// Puts what came behind what waits. False: all that is an incomplete head, and can still be nothing else. It
/// is looked at again only when a line may have ended, so that a head sent byte by byte costs one parse per
/// line, not one per byte.
bool Connection::add_to_stash(std::string_view bytes) {
  const bool partial_head = stash_->judged != 0;
  stash_append(bytes);
  if (!partial_head || h1::needs_parse(bytes) ||
      stash_->view().size() > h1::head_bytes_bound(engine_.limits()))
    return true;
  stash_->judged = static_cast<std::uint32_t>(stash_->view().size());
  return false;
}

void Connection::keep(std::string_view rest) {
  if (input_ == Input::kHead) since_ = now();  // a head has begun
  stash_append(rest);
  stash_->judged = input_waits() ? 0 : static_cast<std::uint32_t>(rest.size());
}

/// Drops the first `taken` bytes of the stash, and the stash when it is empty then.
void Connection::keep_in_stash(std::size_t taken) {
  if (stash_ == nullptr) return;
  stash_->begin += static_cast<std::uint32_t>(taken);
  const auto left = static_cast<std::uint32_t>(stash_->view().size());
  if (left == 0) return drop_stash();
  stash_->judged = input_waits() ? 0 : left;
}

// ---- Without a handler, and the content ----

/// Content that is all in `in` is shown to the handler in place; true when there is nothing to wait for.
bool Connection::take_whole_content(Request& request, h1::Framing& framing,
                                    std::string_view& in) noexcept {
  if (framing.kind == h1::Framing::Kind::kNone) [[likely]]
    return true;
  if (framing.kind == h1::Framing::Kind::kChunked || in.size() < framing.length) return false;
  request.body_ = in.substr(0, static_cast<std::size_t>(framing.length));
  in.remove_prefix(request.body_.size());
  framing = {};
  return true;
}

Response Connection::error_response(Status status) {
  Response response = Response::text(Content::borrowed(reason_phrase(status)));
  response.set_status(status);
  return response;
}

/// The answer where no handler is: OPTIONS answers itself, a path with other methods is a 405 (RFC 9110
/// §15.5.6), CONNECT is not for an origin server, all else is a 404.
Response Connection::routeless_response(Method method, std::string_view path, MethodSet allowed) {
  if (method == Method::kConnect) return error_response(Status::kNotImplemented);
  if (method == Method::kOptions && path == "*") return options_response(kServerMethods);
  if (allowed == 0) return error_response(Status::kNotFound);
  if (method == Method::kOptions) return options_response(allowed);
  return error_response(Status::kMethodNotAllowed).header("Allow", allow_value(allowed));
}

Response Connection::call_plain(Request& request, const Handler& handler) const {
  return checked_answer(request, [&] { return handler.call(request); });
}

std::optional<Response> Connection::ask_head_hook(const Request& request,
                                                  const Route& route) const {
  std::optional<Response> refusal;
  bool passed = false;
  Response answer = checked_answer(request, [&]() -> Response {
    refusal = RouterAccess::head_hook(route)(request);
    passed = !refusal.has_value();
    return passed ? Response{} : std::move(*refusal);
  });
  if (passed) return std::nullopt;
  return answer;
}

void Connection::log_failure(const Request& request, std::string_view what) const {
  std::string line{to_string(request.method())};
  line.append(" ").append(request.target()).append(": answered 500: ").append(what);
  engine_.shared().application.log(line);
}

/// An answer with a field that cannot be sent, which its handler did not look at, becomes a 500.
void Connection::replace_broken(const Request& request, Response& response) const {
  if (!detail::ResponseAccess::broken(response)) [[likely]]
    return;
  log_failure(request, "the answer has a header field that cannot be sent");
  response = error_response(Status::kInternalServerError);
}

/// Answers without asking for what is left of the content: at once where nothing stands before it, else in
/// its turn. For every answer that dispatch() has not sent the short way.
void Connection::respond(const http::RequestHead& head, Request& request, const RequestFacts& facts,
                         Response&& response) {
  if (front_ == nullptr && facts.framing.kind == h1::Framing::Kind::kNone && !response.streamed()) {
    replace_broken(request, response);
    answer(std::move(response), request.method_, request.version_, !facts.keep_alive);
    since_ = now();
    return;
  }
  open_exchange(head, request, facts, Exchange::ContentUse::kDrop)
      .answer_instead(std::move(response));
}

Exchange& Connection::open_exchange(const http::RequestHead& head, const Request& request,
                                    const RequestFacts& facts, Exchange::ContentUse use) {
  auto* const exchange = new Exchange(*this, head, request, facts, use);
  Exchange** place = &front_;
  while (*place != nullptr) place = &(*place)->next;
  *place = exchange;
  ++in_progress_;
  if (!exchange->content_complete()) {
    input_ = Input::kBody;
    receiving_ = exchange;
  } else if (!exchange->keep_alive()) {
    end_input();
  }
  if (front_ == exchange) exchange->become_front();
  return *exchange;
}

/// Refuses what cannot be read as a request. Where the next one would begin is unknown, so the connection
/// ends after the answer (RFC 9112 §2.2, §11.2).
void Connection::refuse(Status status, Method method) {
  end_input();
  more_came();  // linger: what else the client has sent must not reset the answer away
  if (front_ == nullptr) {
    answer(error_response(status), method, Version::kHttp11, true);
    closing_ = Closing::kLinger;
    return;
  }
  RequestFacts facts;
  facts.keep_alive = false;
  Request request;
  request.method_ = method;
  open_exchange(http::RequestHead{}, request, facts, Exchange::ContentUse::kDrop)
      .answer_instead(error_response(status));
}

/// Takes content off `in`, and returns what is behind it.
std::string_view Connection::take_body(std::string_view in) {
  Exchange& exchange = *receiving_;
  const h1::DecodeStep step =
      exchange.body_reader().next(in, engine_.limits(), exchange.trailers());
  // A chunk that is too large is refused as soon as its size is there, as a Content-Length is.
  if (step.kind != h1::DecodeStep::Kind::kError &&
      exchange.content_too_large(step.content.size() + exchange.body_reader().announced())) {
    fail_content(Status::kContentTooLarge);
    return in;
  }
  switch (step.kind) {
    case h1::DecodeStep::Kind::kContent:
      exchange.add_content(step.content);
      if (!exchange.body_reader().chunked() && exchange.body_reader().left() == 0) content_ended();
      break;
    case h1::DecodeStep::Kind::kNeedMore:
      break;
    case h1::DecodeStep::Kind::kEnd:
      content_ended();
      break;
    case h1::DecodeStep::Kind::kError:
      fail_content(step.error);
      break;
  }
  return in;
}

void Connection::content_ended() {
  Exchange* const exchange = std::exchange(receiving_, nullptr);
  input_ = Input::kHead;
  since_ = now();
  if (!exchange->keep_alive()) end_input();
  if (exchange->listed()) {
    exchange->end_content();
  } else {
    delete exchange;  // answered before; what was left of its content has been dropped
  }
}

/// The content is malformed, too large or too slow: its request is answered so, where it has no answer
/// yet, and the connection ends.
void Connection::fail_content(Status status) {
  Exchange* const exchange = std::exchange(receiving_, nullptr);
  end_input();
  more_came();
  if (!exchange->listed()) {
    delete exchange;
    closing_ = Closing::kLinger;
    return;
  }
  exchange->close();
  exchange->drop_content();
  if (exchange->answered()) {
    exchange->content_broke_off();
  } else {
    replace_answer(*exchange, status);
  }
}

/// The client has sent what will not be read as a request: closing the socket at once would reset the
/// answer away before the client has read it, so the connection lingers (RFC 9112 §9.6).
void Connection::more_came() noexcept {
  more_came_ = true;
  if (closing_ == Closing::kFlush && !peer_ended_) closing_ = Closing::kLinger;
}

void Connection::stash_append(std::string_view bytes) {
  stash_ = InputStash::append(stash_, bytes);
}

void Connection::drop_stash() noexcept { InputStash::free(std::exchange(stash_, nullptr)); }

void Connection::end_input() noexcept { input_ = Input::kEnded; }

}  // namespace leantea::app

// Where a message ends, according to this library and to an independent parser (libhttp-parser,
// which was Node's). Whoever stands behind another parser is safe from request smuggling when the two
// never disagree about that; so whenever both take a request, they must find the same content and the
// same end. This library may refuse more.
//
// The input is one request and what follows it. Without the other parser this target does nothing.
#include <cstdint>
#include <optional>
#include <string>

#include "base/assert.hpp"
#include "exact_bytes.hpp"

#ifdef LEANTEA_HAS_HTTP_PARSER

#include <http_parser.h>

#include "h1/chunked_decoder.hpp"
#include "h1/framing.hpp"
#include "h1/head_parser.hpp"

namespace {

using namespace leantea;

/// A request that was taken whole.
struct Taken {
  std::size_t end = 0;
  std::string content;

  bool operator==(const Taken&) const = default;
};

std::optional<std::string> chunked_content(std::string_view& in, const Limits& limits) {
  h1::ChunkedDecoder decoder;
  std::string content, trailers;
  for (;;) {
    const h1::DecodeStep step = decoder.next(in, limits, trailers);
    if (step.kind == h1::DecodeStep::Kind::kEnd) return content;
    if (step.kind != h1::DecodeStep::Kind::kContent) return std::nullopt;
    content += step.content;
  }
}

std::optional<Taken> ours(std::string_view input) {
  const Limits limits;
  http::FieldPlace fields[Limits::kMaxHeaderCount];
  http::RequestHead head;
  head.fields = fields;
  head.field_capacity = Limits::kMaxHeaderCount;
  const h1::HeadResult result = h1::parse_head(input, limits, head);
  if (result.kind != h1::HeadResult::Kind::kComplete) return std::nullopt;
  // The other parser ends the message there in favour of another protocol.
  if (head.method == Method::kConnect) return std::nullopt;
  const auto framing = h1::decide_framing(head);
  if (!framing) return std::nullopt;
  std::string_view rest = input.substr(result.consumed);
  if (framing->kind == h1::Framing::Kind::kChunked) {
    const auto content = chunked_content(rest, limits);
    if (!content) return std::nullopt;
    return Taken{.end = input.size() - rest.size(), .content = *content};
  }
  if (framing->length > rest.size()) return std::nullopt;
  const auto length = static_cast<std::size_t>(framing->length);
  return Taken{.end = result.consumed + length, .content = std::string(rest.substr(0, length))};
}

std::optional<Taken> theirs(std::string_view input) {
  struct State {
    Taken taken;
    bool complete = false;
  } state;
  http_parser_settings settings;
  http_parser_settings_init(&settings);
  settings.on_body = [](http_parser* parser, const char* at, std::size_t size) {
    static_cast<State*>(parser->data)->taken.content.append(at, size);
    return 0;
  };
  settings.on_message_complete = [](http_parser* parser) {
    static_cast<State*>(parser->data)->complete = true;
    http_parser_pause(parser, 1);
    return 0;
  };
  http_parser parser;
  http_parser_init(&parser, HTTP_REQUEST);
  parser.data = &state;
  state.taken.end = http_parser_execute(&parser, &settings, input.data(), input.size());
  if (!state.complete) return std::nullopt;
  return state.taken;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::ExactBytes input{fuzz::text_of(data, size)};
  const auto mine = ours(input.view());
  if (!mine) return 0;
  const auto other = theirs(input.view());
  if (!other) return 0;
  LEANTEA_ASSERT(mine->content == other->content);
  LEANTEA_ASSERT(mine->end == other->end);
  return 0;
}

#else

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t*, std::size_t) { return 0; }

#endif

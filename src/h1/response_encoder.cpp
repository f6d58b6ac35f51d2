#include "h1/response_encoder.hpp"

#include <charconv>
#include <cstring>

#include "base/assert.hpp"
#include "base/date_cache.hpp"
#include "http/response_access.hpp"

namespace leantea::h1 {

namespace {

using Access = detail::ResponseAccess;

// The longest head without type and fields: a status line with the longest reason phrase (31), Date,
// one Connection line, one framing line with 20 digits, the empty line; and room for what is copied
// behind a content type.
constexpr std::size_t kFixedBytes = 160 + Access::kTypeLineRoom;
// A body up to here is copied behind its head, so that head and body leave as one piece; above it a
// second piece costs less than the copy.
constexpr std::size_t kCopyBodyBytes = 2048;

template <std::size_t kWord>
[[gnu::always_inline]] inline void put_ends(char* p, std::string_view bytes) noexcept {
  std::memcpy(p, bytes.data(), kWord);
  std::memcpy(p + bytes.size() - kWord, bytes.data() + bytes.size() - kWord, kWord);
}

/// Short pieces are most of an answer: two moves, which may overlap, in place of a call of memcpy.
[[gnu::always_inline]] inline char* put(char* p, std::string_view bytes) noexcept {
  const std::size_t size = bytes.size();
  if (size > 16) {
    std::memcpy(p, bytes.data(), size);
  } else if (size >= 8) {
    put_ends<8>(p, bytes);
  } else if (size >= 4) {
    put_ends<4>(p, bytes);
  } else if (size >= 2) {
    put_ends<2>(p, bytes);
  } else if (size == 1) {
    *p = bytes.front();
  }
  return p + size;
}

/// A constant piece; its size is known to the compiler, so this is a few moves.
template <std::size_t kSize>
char* put_constant(char* p, const char (&bytes)[kSize]) noexcept {
  std::memcpy(p, bytes, kSize - 1);
  return p + kSize - 1;
}

inline char* put_number(char* p, std::uint64_t number) noexcept {
  if (number < 10) {
    *p = static_cast<char>('0' + number);
    return p + 1;
  }
  return std::to_chars(p, p + 20, number).ptr;
}

char* put_other_status_line(char* p, Status status) noexcept {
  p = put_constant(p, "HTTP/1.1 ");
  p = put_number(p, static_cast<std::uint64_t>(code(status)));
  *p++ = ' ';
  p = put(p, reason_phrase(status));
  return put_constant(p, "\r\n");
}

inline char* put_status_line(char* p, Status status) noexcept {
  if (status == Status::kOk) [[likely]]
    return put_constant(p, "HTTP/1.1 200 OK\r\n");
  return put_other_status_line(p, status);
}

/// RFC 9110 §15.3.5, §15.3.6, §15.4.5: statuses whose answers have no content. For 205 a length of 0 is
/// sent all the same.
bool without_content(Status status) noexcept {
  return status == Status::kNoContent || status == Status::kNotModified ||
         status == Status::kResetContent;
}

struct Plan {
  BodyCoding coding = BodyCoding::kComplete;
  bool send_length = true;  // a Content-Length line
  bool close = false;
  std::string_view body;  // to be sent, of a body that is not streamed
  std::uint64_t length = 0;
};

inline Plan plan_answer(const Response& response, const AnswerContext& context) noexcept {
  Plan plan;
  plan.close = context.close || Access::closes(response);
  const Status status = response.status();
  if (status != Status::kOk && without_content(status)) {
    // RFC 9112 §6.3: these end with their head. A 304's length would have to be the 200's, so it has
    // none; a 204 must not have one (RFC 9110 §8.6).
    plan.send_length = status == Status::kResetContent;
    return plan;
  }
  if (Access::body_kind(response) != Access::Body::kStream) {
    const std::string_view body = Access::body(response);
    plan.length = body.size();
    if (!context.head) plan.body = body;
    return plan;
  }
  if (const auto length = Access::stream_length(response)) {
    plan.length = *length;
    if (!context.head) plan.coding = BodyCoding::kLength;
    return plan;
  }
  plan.send_length = false;
  plan.coding =
      context.version == Version::kHttp11 ? BodyCoding::kChunked : BodyCoding::kUntilClose;
  if (plan.coding == BodyCoding::kUntilClose) plan.close = true;
  return plan;
}

/// Inlined for the usual answer, whose plan then lives in registers.
[[gnu::always_inline]] inline char* put_head(char* p, const Response& response,
                                             const AnswerContext& context, const Plan& plan) {
  p = put_status_line(p, response.status());
  std::memcpy(p, context.date_line.data(), base::DateCache::kLineBytes);
  p += base::DateCache::kLineBytes;
  if (const std::string_view type = Access::type_line(response); !type.empty()) {
    std::memcpy(p, type.data(), Access::kTypeLineRoom);  // of one size, so three moves
    p += type.size();
  }
  if (const std::string_view fields = Access::fields(response); !fields.empty()) p = put(p, fields);
  if (plan.close) {
    p = put_constant(p, "Connection: close\r\n");
  } else if (context.version == Version::kHttp10) {
    p = put_constant(
        p, "Connection: keep-alive\r\n");  // RFC 9112 §C.2.2: 1.0 closes unless told otherwise
  }
  if (plan.send_length) {
    p = put_constant(p, "Content-Length: ");
    p = put_number(p, plan.length);
    return put_constant(p, "\r\n\r\n");
  }
  if (plan.coding == BodyCoding::kChunked) p = put_constant(p, "Transfer-Encoding: chunked\r\n");
  return put_constant(p, "\r\n");
}

/// A head with more fields than a block holds.
[[gnu::noinline]] void append_long_head(const Response& response, const AnswerContext& context,
                                        const Plan& plan, std::size_t bytes,
                                        base::OutputQueue& out) {
  std::string head(bytes, '\0');
  const char* const end = put_head(head.data(), response, context, plan);
  head.resize(static_cast<std::size_t>(end - head.data()));
  out.append_owned(std::move(head));
}

/// A body that is too long to be copied.
void append_body(Response&& response, base::BlockPool& pool, base::OutputQueue& out) {
  switch (Access::body_kind(response)) {
    case Access::Body::kOwned:
      out.append_owned(Access::take_owned(response));
      return;
    case Access::Body::kShared: {
      const std::string_view body = response.body();
      out.append_shared(Access::take_owner(response), body);
      return;
    }
    case Access::Body::kStatic:
      out.append_shared(nullptr, response.body());
      return;
    default:
      out.append(pool, response.body());
  }
}

}  // namespace

Encoded encode_response(Response&& response, const AnswerContext& context, base::BlockPool& pool,
                        base::OutputQueue& out) {
  LEANTEA_ASSERT(!Access::broken(response));
  const Plan plan = plan_answer(response, context);
  const std::size_t head_bytes =
      kFixedBytes + Access::type_line(response).size() + Access::fields(response).size();
  const bool copies = plan.body.size() <= kCopyBodyBytes;
  const std::size_t copied = copies ? plan.body.size() : 0;
  if (head_bytes + copied <= base::BlockPool::kBlockBytes) [[likely]] {
    char* const begin = out.reserve(pool, head_bytes + copied);
    char* p = put_head(begin, response, context, plan);
    if (copies) p = put(p, plan.body);
    out.commit(static_cast<std::size_t>(p - begin));
  } else {
    append_long_head(response, context, plan, head_bytes, out);
    if (copies) out.append(pool, plan.body);
  }
  if (!copies) append_body(std::move(response), pool, out);
  return {context.head ? BodyCoding::kComplete : plan.coding, plan.close};
}

std::string encode_interim(Status status, std::string_view fields) {
  std::string interim(64, '\0');
  interim.resize(
      static_cast<std::size_t>(put_status_line(interim.data(), status) - interim.data()));
  return interim.append(fields).append("\r\n");
}

void encode_chunk(std::string_view content, base::BlockPool& pool, base::OutputQueue& out) {
  LEANTEA_ASSERT(!content.empty());
  char* const begin = out.reserve(pool, 24);
  char* p = std::to_chars(begin, begin + 16, content.size(), 16).ptr;
  p = put_constant(p, "\r\n");
  out.commit(static_cast<std::size_t>(p - begin));
  out.append(pool, content);
  out.append(pool, "\r\n");
}

void encode_last_chunk(std::string_view trailers, base::BlockPool& pool, base::OutputQueue& out) {
  out.append(pool, "0\r\n");
  out.append(pool, trailers);
  out.append(pool, "\r\n");
}

}  // namespace leantea::h1

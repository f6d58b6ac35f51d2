#include "h1/response_encoder.hpp"

#include <charconv>
#include <cstring>

#include "base/assert.hpp"
#include "base/date_cache.hpp"
#include "http/response_access.hpp"

namespace leantea::h1 {

namespace encoding {

char* put_other_status_line(char* p, Status status) noexcept {
  p = put_constant(p, "HTTP/1.1 ");
  p = put_number(p, static_cast<std::uint64_t>(code(status)));
  *p++ = ' ';
  p = put(p, reason_phrase(status));
  return put_constant(p, "\r\n");
}

}  // namespace encoding

namespace {

using encoding::Access;
using encoding::Plan;
using encoding::put_constant;

/// RFC 9110 §15.3.5, §15.3.6, §15.4.5: statuses whose answers have no content. For 205 a length of 0 is
/// sent all the same.
bool without_content(Status status) noexcept {
  return status == Status::kNoContent || status == Status::kNotModified ||
         status == Status::kResetContent;
}

Plan plan_answer(const Response& response, const AnswerContext& context) noexcept {
  Plan plan;
  plan.status = response.status();
  plan.close = context.close || Access::closes(response);
  if (without_content(plan.status)) {
    // RFC 9112 §6.3: these end with their head. A 304's length would have to be the 200's, so it has
    // none; a 204 must not have one (RFC 9110 §8.6).
    plan.send_length = plan.status == Status::kResetContent;
    return plan;
  }
  if (!response.streamed()) {
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

/// A head with more fields than a block holds.
[[gnu::noinline]] void append_long_head(const Response& response, const AnswerContext& context,
                                        const Plan& plan, std::size_t bytes,
                                        base::OutputQueue& out) {
  std::string head(bytes, '\0');
  const char* const end = encoding::put_head(head.data(), response, context, plan);
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
  return encode_response_inline(std::move(response), context, pool, out);
}

Encoded encoding::encode_unusual(Response&& response, const AnswerContext& context,
                                 base::BlockPool& pool, base::OutputQueue& out) {
  LEANTEA_ASSERT(!Access::broken(response));
  const Plan plan = plan_answer(response, context);
  const std::size_t head_bytes =
      encoding::kFixedBytes + Access::type_line(response).size() + Access::fields(response).size();
  const bool copies = plan.body.size() <= encoding::kCopyBodyBytes;
  const std::size_t copied = copies ? plan.body.size() : 0;
  if (head_bytes + copied <= base::BlockPool::kBlockBytes) [[likely]] {
    char* const begin = out.reserve(pool, head_bytes + copied);
    char* p = encoding::put_head(begin, response, context, plan);
    if (copies) p = encoding::put(p, plan.body);
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
      static_cast<std::size_t>(encoding::put_status_line(interim.data(), status) - interim.data()));
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

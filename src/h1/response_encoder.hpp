// The response encoder (RFC 9112 §4, §6, §7.1): a Response to bytes.
//
// Pure functions over the queue they are given; the queue's thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <leantea/http.hpp>
#include <leantea/response.hpp>

#include "base/date_cache.hpp"
#include "base/output_queue.hpp"
#include "http/response_access.hpp"

namespace leantea::h1 {

/// What the request and the connection say about how an answer is sent.
struct AnswerContext {
  Version version = Version::kHttp11;  ///< of the request
  bool head = false;                   ///< the request's method is HEAD: no content is sent
  bool close = false;                  ///< the connection ends after this answer
  std::string_view date_line;          ///< "Date: …\r\n"
};

/// How the content behind an encoded head is delimited.
enum class BodyCoding : std::uint8_t {
  kComplete,    ///< all of the answer is in the queue
  kLength,      ///< a streamed body of known length follows
  kChunked,     ///< a streamed body follows in chunks: write_chunk, write_last_chunk
  kUntilClose,  ///< a streamed body follows and ends with the connection (HTTP/1.0)
};

struct Encoded {
  BodyCoding coding;
  bool close;  ///< the answer says that the connection ends
};

/// Appends the head of `response`, and its content unless that is streamed. Content is sent without
/// copying where it is owned or shared and long. REQUIRES: the response is not broken.
Encoded encode_response(Response&& response, const AnswerContext& context, base::BlockPool& pool,
                        base::OutputQueue& out);

/// The same, inlined for the usual answer: for the one place that nearly all answers come from, where it takes
/// half the instructions of a call that is ready for every answer.
[[gnu::always_inline]] inline Encoded encode_response_inline(Response&& response,
                                                             const AnswerContext& context,
                                                             base::BlockPool& pool,
                                                             base::OutputQueue& out);

/// An interim response (RFC 9110 §15.2): status line and field lines ("name: value\r\n" …).
std::string encode_interim(Status status, std::string_view fields);

/// Appends one chunk. REQUIRES: !content.empty() (an empty chunk would end the body).
void encode_chunk(std::string_view content, base::BlockPool& pool, base::OutputQueue& out);
/// Appends the last chunk and the trailer section ("name: value\r\n" …).
void encode_last_chunk(std::string_view trailers, base::BlockPool& pool, base::OutputQueue& out);

// ---- The inline part ----

namespace encoding {

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
[[gnu::always_inline]] inline char* put_constant(char* p, const char (&bytes)[kSize]) noexcept {
  std::memcpy(p, bytes, kSize - 1);
  return p + kSize - 1;
}

/// In decimal. std::to_chars() is for every base and looks for the end of its space; GCC calls it as a function or
/// not as the rest of the program has it, which is 40 instructions.
[[gnu::always_inline]] inline char* put_number(char* p, std::uint64_t number) noexcept {
  constexpr std::uint64_t kBase = 10;
  if (number < kBase) {
    *p = static_cast<char>('0' + number);
    return p + 1;
  }
  char* end = p + 2;
  for (std::uint64_t rest = number / (kBase * kBase); rest != 0; rest /= kBase) ++end;
  for (char* at = end; at != p; number /= kBase) *--at = static_cast<char>('0' + number % kBase);
  return end;
}

char* put_other_status_line(char* p, Status status) noexcept;

[[gnu::always_inline]] inline char* put_status_line(char* p, Status status) noexcept {
  if (status == Status::kOk) [[likely]]
    return put_constant(p, "HTTP/1.1 200 OK\r\n");
  return put_other_status_line(p, status);
}

struct Plan {
  Status status = Status::kOk;
  BodyCoding coding = BodyCoding::kComplete;
  bool send_length = true;  // a Content-Length line
  bool close = false;
  std::string_view body;  // to be sent, of a body that is not streamed
  std::uint64_t length = 0;
};

/// Inlined, because most of the plan of a usual answer is known to the compiler.
[[gnu::always_inline]] inline char* put_head(char* p, const Response& response,
                                             const AnswerContext& context, const Plan& plan) {
  p = put_status_line(p, plan.status);
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

/// Every answer that is not usual.
[[gnu::noinline]] Encoded encode_unusual(Response&& response, const AnswerContext& context,
                                         base::BlockPool& pool, base::OutputQueue& out);

}  // namespace encoding

inline Encoded encode_response_inline(Response&& response, const AnswerContext& context,
                                      base::BlockPool& pool, base::OutputQueue& out) {
  using encoding::Access;
  // A copy of the context, so that the usual answer's stays in registers.
  const auto otherwise = [&] [[gnu::always_inline]] {
    const AnswerContext copy = context;
    return encoding::encode_unusual(std::move(response), copy, pool, out);
  };
  if (response.status() != Status::kOk || !Access::plain(response)) [[unlikely]]
    return otherwise();
  const std::string_view body = Access::body(response);
  if (body.size() > encoding::kCopyBodyBytes) [[unlikely]]
    return otherwise();
  const encoding::Plan plan{.close = context.close, .length = body.size()};
  const std::size_t most = encoding::kFixedBytes + Access::type_line(response).size() +
                           Access::fields(response).size() + body.size();
  char* const begin = out.reserve(pool, most);
  char* p = encoding::put_head(begin, response, context, plan);
  if (!context.head) [[likely]]
    p = encoding::put(p, body);
  out.commit(static_cast<std::size_t>(p - begin));
  return {BodyCoding::kComplete, plan.close};
}

}  // namespace leantea::h1

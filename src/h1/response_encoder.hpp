// The response encoder (RFC 9112 §4, §6, §7.1): a Response to bytes.
//
// Pure functions over the queue they are given; the queue's thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <leantea/http.hpp>
#include <leantea/response.hpp>

#include "base/output_queue.hpp"

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

/// An interim response (RFC 9110 §15.2): status line and field lines ("name: value\r\n" …).
std::string encode_interim(Status status, std::string_view fields);

/// Appends one chunk. REQUIRES: !content.empty() (an empty chunk would end the body).
void encode_chunk(std::string_view content, base::BlockPool& pool, base::OutputQueue& out);
/// Appends the last chunk and the trailer section ("name: value\r\n" …).
void encode_last_chunk(std::string_view trailers, base::BlockPool& pool, base::OutputQueue& out);

}  // namespace leantea::h1

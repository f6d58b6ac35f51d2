// The chunked decoder: nothing is read outside, and the answer does not depend on how the bytes were
// split.
//
// The first byte chooses limits, the second seeds the splits, the rest is the body.
#include <string>

#include "base/assert.hpp"
#include "exact_bytes.hpp"
#include "h1/chunked_decoder.hpp"
#include "http/byte_set.hpp"
#include "http/field_name.hpp"

namespace {

using namespace leantea;
using Kind = h1::DecodeStep::Kind;

struct Outcome {
  Kind kind = Kind::kNeedMore;
  Status error = Status::kOk;
  std::string content;
  std::string trailers;
  std::size_t taken = 0;

  bool operator==(const Outcome&) const = default;
};

/// Decodes the body in pieces of 1 to `largest` bytes.
Outcome decode(std::string_view body, const Limits& limits, std::uint32_t seed,
               std::size_t largest) {
  h1::ChunkedDecoder decoder;
  Outcome outcome;
  std::string trailers;
  while (outcome.kind == Kind::kNeedMore && outcome.taken < body.size()) {
    seed = seed * 1'664'525 + 1'013'904'223;
    const fuzz::ExactBytes piece{body.substr(outcome.taken, 1 + (seed >> 8) % largest)};
    std::string_view in = piece.view();
    for (;;) {
      const h1::DecodeStep step = decoder.next(in, limits, trailers);
      outcome.kind = step.kind;
      if (step.kind == Kind::kError) outcome.error = step.error;
      if (step.kind != Kind::kContent) break;
      outcome.content += step.content;
    }
    LEANTEA_ASSERT(outcome.kind != Kind::kNeedMore || in.empty());
    outcome.taken += piece.view().size() - in.size();
  }
  LEANTEA_ASSERT(trailers.size() <= limits.trailer_bytes + limits.trailer_bytes / 4 + 18);
  if (outcome.kind == Kind::kEnd) outcome.trailers = trailers;
  if (outcome.kind == Kind::kError) outcome.taken = 0;  // how far it read is not part of the answer
  return outcome;
}

void check_trailers(std::string_view trailers) {
  while (!trailers.empty()) {
    const std::size_t end = trailers.find("\r\n");
    LEANTEA_ASSERT(end != std::string_view::npos);
    const std::string_view line = trailers.substr(0, end);
    const std::string_view name = line.substr(0, line.find(':'));
    LEANTEA_ASSERT(http::is_token(name) && line.substr(name.size()).starts_with(": "));
    LEANTEA_ASSERT(!http::forbidden_in_trailers(name));
    trailers.remove_prefix(end + 2);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  Limits limits;
  if (fuzz::take_byte(input) % 2 == 1) {
    limits.chunk_extension_bytes = 12;
    limits.trailer_bytes = 24;
  }
  const std::uint32_t seed = fuzz::take_byte(input);
  const Outcome whole = decode(input, limits, 0, SIZE_MAX);
  LEANTEA_ASSERT(whole == decode(input, limits, seed, 1));
  LEANTEA_ASSERT(whole == decode(input, limits, seed, 7));
  LEANTEA_ASSERT(whole == decode(input, limits, seed, 1 + seed));
  LEANTEA_ASSERT(whole.content.size() <= input.size());
  check_trailers(whole.trailers);
  return 0;
}

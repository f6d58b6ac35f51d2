// BodyReader: the content of one request, whatever its framing, taken from the bytes of its connection.
//
// One thread. Holds no bytes; content is shown in place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "h1/chunked_decoder.hpp"
#include "h1/framing.hpp"

namespace leantea::h1 {

class BodyReader {
 public:
  /// Begins a body. REQUIRES: framing.kind is not kNone.
  void start(Framing framing) noexcept {
    kind_ = framing.kind;
    left_ = framing.length;
    decoder_.reset();
  }

  /// Takes bytes off the front of `in` up to the next thing to say; see ChunkedDecoder::next.
  DecodeStep next(std::string_view& in, const Limits& limits, std::string& trailers) noexcept {
    if (kind_ == Framing::Kind::kChunked) return decoder_.next(in, limits, trailers);
    if (left_ == 0) return {.kind = DecodeStep::Kind::kEnd, .content = {}};
    if (in.empty()) return {.kind = DecodeStep::Kind::kNeedMore, .content = {}};
    const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size()));
    const std::string_view content = in.substr(0, take);
    in.remove_prefix(take);
    left_ -= take;
    return {.kind = DecodeStep::Kind::kContent, .content = content};
  }

  /// Bytes that the present chunk still has to bring.
  std::uint64_t announced() const noexcept { return chunked() ? decoder_.announced() : 0; }
  bool chunked() const noexcept { return kind_ == Framing::Kind::kChunked; }
  /// Bytes of content still to come, where the framing tells. REQUIRES: !chunked().
  std::uint64_t left() const noexcept { return left_; }

 private:
  Framing::Kind kind_ = Framing::Kind::kNone;
  std::uint64_t left_ = 0;
  ChunkedDecoder decoder_;
};

}  // namespace leantea::h1

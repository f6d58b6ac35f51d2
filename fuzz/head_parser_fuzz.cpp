// The head parser: no input makes it read outside, an answer does not depend on how much has come
// beyond what decided it, and a head that is taken is put together of the parts it is said to have.
//
// The first byte chooses the limits, the rest is what is received.
#include <string>

#include "base/assert.hpp"
#include "exact_bytes.hpp"
#include "h1/framing.hpp"
#include "h1/head_parser.hpp"
#include "http/ascii.hpp"
#include "http/byte_set.hpp"
#include "http/target.hpp"

namespace {

using namespace leantea;
using Kind = h1::HeadResult::Kind;

Limits limits_for(std::uint8_t choice) {
  if (choice % 4 != 0) return {};
  return {.target_bytes = 20, .header_bytes = 80, .header_count = 4, .leading_empty_lines = 2};
}

/// The head, written out again line by line: it must be the bytes it was read from, but for white
/// space around values.
void check_parts(const http::RequestHead& head, std::string_view bytes) {
  const std::string_view text{head.bytes, head.size};
  LEANTEA_ASSERT(bytes.ends_with(text) && text.ends_with("\r\n\r\n"));
  std::string_view rest = text;
  const auto take_line = [&rest] {
    const std::size_t end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    return line;
  };
  std::string line{to_string(head.method)};
  line.append(" ").append(head.target()).append(" HTTP/1.");
  const std::string_view request_line = take_line();
  LEANTEA_ASSERT(request_line.substr(0, request_line.size() - 1) == line);
  http::FieldNameSet present;
  for (const http::FieldPlace& field : head.field_places()) {
    const std::string_view field_line = take_line();
    const std::string_view name = head.name(field);
    const std::string_view value = head.value(field);
    LEANTEA_ASSERT(http::is_token(name));
    LEANTEA_ASSERT(field_line.starts_with(name) && field_line[name.size()] == ':');
    LEANTEA_ASSERT(http::trim_ows(field_line.substr(name.size() + 1)) == value);
    for (const char c : value)
      LEANTEA_ASSERT((static_cast<unsigned char>(c) >= 0x20 || c == '\t') && c != 0x7f);
    LEANTEA_ASSERT(field.name == http::field_name_from(name));
    present.add(field.name);
  }
  LEANTEA_ASSERT(take_line().empty() && rest.empty());
  for (unsigned i = 1; i < http::kFieldNameCount; ++i) {
    const auto name = static_cast<http::FieldName>(i);
    LEANTEA_ASSERT(present.has(name) == head.present.has(name));
  }
}

/// What is asked about every head that is taken.
void ask(const http::RequestHead& head) {
  std::string scratch(head.target_size, '\0');
  (void)http::resolve_target(head.method, head.target(), scratch.data(), scratch.size());
  (void)http::valid_host(head.find(http::FieldName::kHost).value_or(""), true);
  (void)h1::decide_framing(head);
  (void)h1::wants_keep_alive(head);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  const std::uint8_t choice = fuzz::take_byte(input);
  const Limits limits = limits_for(choice);
  http::FieldPlace fields[Limits::kMaxHeaderCount];
  http::RequestHead head;
  head.fields = fields;
  head.field_capacity = Limits::kMaxHeaderCount;

  const fuzz::ExactBytes all{input};
  const h1::HeadResult whole = h1::parse_head(all.view(), limits, head);
  if (whole.kind == Kind::kComplete) {
    check_parts(head, all.view().substr(0, whole.consumed));
    ask(head);
  }
  if (whole.kind == Kind::kIncomplete) LEANTEA_ASSERT(input.size() < h1::head_bytes_bound(limits));

  // Every beginning is incomplete up to the one that decides, and from there on says the same.
  const std::size_t step = input.size() < 300 ? 1 : 1 + choice % 64;
  for (std::size_t end = 0; end < input.size(); end += step) {
    const fuzz::ExactBytes beginning{input.substr(0, end)};
    const h1::HeadResult result = h1::parse_head(beginning.view(), limits, head);
    if (result.kind == Kind::kIncomplete) continue;
    LEANTEA_ASSERT(result.kind == whole.kind && result.error == whole.error);
    LEANTEA_ASSERT(result.consumed == whole.consumed && result.consumed <= end);
    if (result.kind == Kind::kComplete) break;
  }
  return 0;
}

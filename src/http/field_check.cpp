#include "http/field_check.hpp"

#include "base/scan.hpp"
#include "http/ascii.hpp"

namespace leantea::http {

namespace {

// Fields the server writes itself (RFC 9110 §6.6.1, §8.6, RFC 9112 §6.1, §9.3); a handler that sets one
// could break the framing of the answer.
constexpr std::string_view kReserved[] = {"Connection", "Content-Length",    "Date",   "Keep-Alive",
                                          "Trailer",    "Transfer-Encoding", "Upgrade"};

}  // namespace

std::expected<void, FieldError> check_field(std::string_view name,
                                            std::string_view value) noexcept {
  const char* const name_end = name.data() + name.size();
  if (name.empty() || base::skip_token(name.data(), name_end) != name_end)
    return std::unexpected(FieldError::kBadName);
  const char* const value_end = value.data() + value.size();
  if (base::find_control(value.data(), value_end) != value_end)
    return std::unexpected(FieldError::kBadValue);
  for (const std::string_view reserved : kReserved)
    if (equal_ignoring_case(name, reserved)) return std::unexpected(FieldError::kReserved);
  return {};
}

}  // namespace leantea::http

// What a field of an answer may be: the check that keeps handlers from splitting a response.
//
// Pure function, any thread.
#pragma once

#include <expected>
#include <string_view>

#include <leantea/response.hpp>

namespace leantea::http {

/// Nothing, or why this field line cannot stand in an answer (RFC 9110 §5.1, §5.5).
std::expected<void, FieldError> check_field(std::string_view name, std::string_view value) noexcept;

}  // namespace leantea::http

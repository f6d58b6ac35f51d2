// The words of HTTP that all of the API uses: Method, Status, Version (RFC 9110).
//
// Values only, no state: may be used from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace leantea {

/// Request methods (RFC 9110 §9, PATCH from RFC 5789). A method that is not here is answered 501.
enum class Method : std::uint8_t {
  kGet,
  kHead,
  kPost,
  kPut,
  kDelete,
  kConnect,
  kOptions,
  kTrace,
  kPatch
};

inline constexpr std::size_t kMethodCount = 9;

/// The method's token as it stands in a request line. Static storage.
std::string_view to_string(Method method) noexcept;

/// The method with exactly this token (methods are case-sensitive, RFC 9110 §9.1), or nothing.
std::optional<Method> method_from(std::string_view token) noexcept;

/// The protocol version of a request. Others are answered 505.
enum class Version : std::uint8_t { kHttp10, kHttp11 };

/// Status codes (RFC 9110 §15 and the IANA registry). Any value from 200 to 599 may be cast to it
/// for a response; codes without a name get an empty reason phrase, which RFC 9112 §4 allows.
enum class Status : std::uint16_t {
  kContinue = 100,
  kSwitchingProtocols = 101,
  kEarlyHints = 103,
  kOk = 200,
  kCreated = 201,
  kAccepted = 202,
  kNoContent = 204,
  kResetContent = 205,
  kPartialContent = 206,
  kMovedPermanently = 301,
  kFound = 302,
  kSeeOther = 303,
  kNotModified = 304,
  kTemporaryRedirect = 307,
  kPermanentRedirect = 308,
  kBadRequest = 400,
  kUnauthorized = 401,
  kForbidden = 403,
  kNotFound = 404,
  kMethodNotAllowed = 405,
  kNotAcceptable = 406,
  kRequestTimeout = 408,
  kConflict = 409,
  kGone = 410,
  kLengthRequired = 411,
  kPreconditionFailed = 412,
  kContentTooLarge = 413,
  kUriTooLong = 414,
  kUnsupportedMediaType = 415,
  kRangeNotSatisfiable = 416,
  kExpectationFailed = 417,
  kMisdirectedRequest = 421,
  kUnprocessableContent = 422,
  kUpgradeRequired = 426,
  kPreconditionRequired = 428,
  kTooManyRequests = 429,
  kRequestHeaderFieldsTooLarge = 431,
  kInternalServerError = 500,
  kNotImplemented = 501,
  kBadGateway = 502,
  kServiceUnavailable = 503,
  kGatewayTimeout = 504,
  kHttpVersionNotSupported = 505,
};

/// The number of a status.
constexpr int code(Status status) noexcept { return static_cast<int>(status); }

/// The reason phrase of RFC 9110 §15, empty for a code without a name. Static storage.
std::string_view reason_phrase(Status status) noexcept;

}  // namespace leantea

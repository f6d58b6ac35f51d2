#include <leantea/http.hpp>

namespace leantea {

std::string_view reason_phrase(Status status) noexcept {
  switch (status) {
    case Status::kContinue:
      return "Continue";
    case Status::kSwitchingProtocols:
      return "Switching Protocols";
    case Status::kEarlyHints:
      return "Early Hints";
    case Status::kOk:
      return "OK";
    case Status::kCreated:
      return "Created";
    case Status::kAccepted:
      return "Accepted";
    case Status::kNoContent:
      return "No Content";
    case Status::kResetContent:
      return "Reset Content";
    case Status::kPartialContent:
      return "Partial Content";
    case Status::kMovedPermanently:
      return "Moved Permanently";
    case Status::kFound:
      return "Found";
    case Status::kSeeOther:
      return "See Other";
    case Status::kNotModified:
      return "Not Modified";
    case Status::kTemporaryRedirect:
      return "Temporary Redirect";
    case Status::kPermanentRedirect:
      return "Permanent Redirect";
    case Status::kBadRequest:
      return "Bad Request";
    case Status::kUnauthorized:
      return "Unauthorized";
    case Status::kForbidden:
      return "Forbidden";
    case Status::kNotFound:
      return "Not Found";
    case Status::kMethodNotAllowed:
      return "Method Not Allowed";
    case Status::kNotAcceptable:
      return "Not Acceptable";
    case Status::kRequestTimeout:
      return "Request Timeout";
    case Status::kConflict:
      return "Conflict";
    case Status::kGone:
      return "Gone";
    case Status::kLengthRequired:
      return "Length Required";
    case Status::kPreconditionFailed:
      return "Precondition Failed";
    case Status::kContentTooLarge:
      return "Content Too Large";
    case Status::kUriTooLong:
      return "URI Too Long";
    case Status::kUnsupportedMediaType:
      return "Unsupported Media Type";
    case Status::kRangeNotSatisfiable:
      return "Range Not Satisfiable";
    case Status::kExpectationFailed:
      return "Expectation Failed";
    case Status::kMisdirectedRequest:
      return "Misdirected Request";
    case Status::kUnprocessableContent:
      return "Unprocessable Content";
    case Status::kUpgradeRequired:
      return "Upgrade Required";
    case Status::kPreconditionRequired:
      return "Precondition Required";
    case Status::kTooManyRequests:
      return "Too Many Requests";
    case Status::kRequestHeaderFieldsTooLarge:
      return "Request Header Fields Too Large";
    case Status::kInternalServerError:
      return "Internal Server Error";
    case Status::kNotImplemented:
      return "Not Implemented";
    case Status::kBadGateway:
      return "Bad Gateway";
    case Status::kServiceUnavailable:
      return "Service Unavailable";
    case Status::kGatewayTimeout:
      return "Gateway Timeout";
    case Status::kHttpVersionNotSupported:
      return "HTTP Version Not Supported";
  }
  return {};
}

}  // namespace leantea

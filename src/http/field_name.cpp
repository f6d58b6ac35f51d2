#include "http/field_name.hpp"

#include <algorithm>
#include <array>

#include "http/ascii.hpp"

namespace leantea::http {
namespace {

// Sorted, for the eye. RFC 9110 §6.5.1 forbids fields "necessary for message framing, routing,
// authentication, request modifiers, response controls, or content format"; the sections that
// define those are named.
constexpr std::array<std::string_view, 41> kNotInTrailers = {
    "accept-ranges",        // response control, §14.3
    "age",                  // response control, RFC 9111 §5.1
    "authorization",        // authentication, §11.6
    "cache-control",        // request modifier, RFC 9111 §5.2
    "connection",           // framing of the hop, §7.6.1
    "content-encoding",     // content format, §8.4
    "content-language",     // content format, §8.5
    "content-length",       // framing, §8.6
    "content-location",     // content format, §8.7
    "content-range",        // content format, §14.4
    "content-type",         // content format, §8.3
    "cookie",               // request modifier, RFC 6265
    "date",                 // response control, §6.6.1
    "expect",               // request modifier, §10.1.1
    "expires",              // response control, RFC 9111 §5.3
    "forwarded",            // routing, RFC 7239
    "host",                 // routing, §7.2
    "if-match",             // request modifier, §13.1
    "if-modified-since",    //
    "if-none-match",        //
    "if-range",             //
    "if-unmodified-since",  //
    "keep-alive",           // framing of the hop, RFC 9112 §C.2.2
    "location",             // response control, §10.2.2
    "max-forwards",         // request modifier, §7.6.2
    "pragma",               // request modifier, RFC 9111 §5.4
    "proxy-authenticate",   // authentication, §11.7
    "proxy-authentication-info",
    "proxy-authorization",  //
    "proxy-connection",     // framing of the hop, RFC 9112 §C.2.2
    "range",                // request modifier, §14.2
    "retry-after",          // response control, §10.2.3
    "set-cookie",           // response control, RFC 6265
    "te",                   // framing of the hop, §10.1.4
    "trailer",              // framing, §6.6.2
    "transfer-encoding",    // framing, RFC 9112 §6.1
    "upgrade",              // framing of the hop, §7.8
    "vary",                 // response control, §12.5.5
    "via",                  // routing, §7.6.3
    "warning",              // response control, RFC 7234 §5.5
    "www-authenticate",     // authentication, §11.6
};

}  // namespace

bool forbidden_in_trailers(std::string_view name) noexcept {
  return std::ranges::any_of(kNotInTrailers, [name](std::string_view forbidden) {
    return equal_ignoring_case(forbidden, name);
  });
}

}  // namespace leantea::http

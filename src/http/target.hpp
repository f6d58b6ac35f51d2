// The request target (RFC 9112 §3.2): its four forms, the path normalised and decoded once, and the
// syntax of Host (RFC 9110 §7.2).
//
// Pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <string_view>

#include <leantea/http.hpp>

#include "base/load_word.hpp"

namespace leantea::http {

enum class TargetForm : std::uint8_t { kOrigin, kAbsolute, kAuthority, kAsterisk };

struct Target {
  TargetForm form = TargetForm::kOrigin;
  /// host[:port] of absolute-form or authority-form, else empty. A view into the raw target.
  std::string_view authority;
  /// Dot segments removed and percent-decoded exactly once. "*" for asterisk-form, and for OPTIONS
  /// with an absolute-form that has neither path nor query, which means the same (RFC 9112 §3.2.4);
  /// "/" for other absolute-forms without a path; empty for authority-form. A view into the raw
  /// target when nothing had to change, else into `scratch` or static storage. An encoded slash
  /// stays encoded ("%2F"), so that decoding never makes a segment.
  std::string_view path;
  /// After the first '?', as it came, without the '?'. A view into the raw target.
  std::string_view query;
};

/// Judges a target for this method. Errors: 400 for a target that is not valid, or not allowed for
/// the method (CONNECT takes authority-form only, "*" is for OPTIONS only), or whose dot segments
/// climb above the root, or that has %00 or an encoded control character in its path; 421 for an
/// https URI where the connection is not `secured` (RFC 9110 §7.4).
/// REQUIRES: scratch_size >= raw.size(). The target has no white space and no control characters.
[[gnu::noinline]] std::expected<Target, Status> resolve_target(Method method, std::string_view raw,
                                                               char* scratch,
                                                               std::size_t scratch_size,
                                                               bool secured = false) noexcept;

/// True when `value` is a Host field value: uri-host [":" port], where uri-host may be a reg-name, an
/// IPv4 address or an IP literal in brackets. The empty value is valid only where `empty_allowed`;
/// a port without a host is not.
bool valid_host(std::string_view value, bool empty_allowed) noexcept;

/// Judges Host field values (valid_host() with the empty one allowed), and remembers the last valid one: nearly
/// all requests of a client name the same host, mostly all requests of a server, and to compare takes a tenth
/// of what judging takes. One thread.
class HostCheck {
 public:
  bool valid(std::string_view value) noexcept {
    if (value.size() == size_ && same_as_last(value.data())) [[likely]]
      return true;
    return valid_otherwise(value);
  }

 private:
  static constexpr std::size_t kShortest = sizeof(std::uint64_t);

  [[gnu::noinline]] bool valid_otherwise(std::string_view value) noexcept;
  /// Most hosts are two words that may overlap. REQUIRES: size_ >= kShortest.
  bool same_as_last(const char* value) const noexcept {
    constexpr auto kLoad = base::load_word<std::uint64_t>;
    if (size_ > 2 * kShortest) return std::memcmp(value, bytes_.data(), size_) == 0;
    const std::size_t last = size_ - kShortest;
    return ((kLoad(value) ^ kLoad(bytes_.data())) |
            (kLoad(value + last) ^ kLoad(bytes_.data() + last))) == 0;
  }

  std::size_t size_ = SIZE_MAX;  ///< of the last valid value; no size before there is one
  std::array<char, 64> bytes_{};
};

}  // namespace leantea::http

// ASCII without a locale, and comma lists (RFC 9110 §5.6.1).
//
// Pure functions, any thread; views returned are into the argument.
#pragma once

#include <cstddef>
#include <string_view>

namespace leantea::http {

constexpr char to_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

constexpr bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (to_lower(a[i]) != to_lower(b[i])) return false;
  return true;
}

constexpr std::string_view trim_ows(std::string_view s) noexcept {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

/// Takes the next member of a comma list off the front of `list`, without the white space around
/// it. Empty members are returned as empty views. REQUIRES: !list.empty().
constexpr std::string_view next_member(std::string_view& list) noexcept {
  const std::size_t comma = list.find(',');
  const std::string_view member = trim_ows(list.substr(0, comma));
  list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  return member;
}

/// True when a comma list has this token, compared without case.
constexpr bool list_has(std::string_view list, std::string_view token) noexcept {
  while (!list.empty())
    if (equal_ignoring_case(next_member(list), token)) return true;
  return false;
}

}  // namespace leantea::http

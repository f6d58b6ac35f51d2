#include <array>

#include <leantea/http.hpp>

namespace leantea {
namespace {

constexpr std::array<std::string_view, kMethodCount> kTokens = {
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};

}  // namespace

std::string_view to_string(Method method) noexcept {
  return kTokens[static_cast<std::size_t>(method)];
}

std::optional<Method> method_from(std::string_view token) noexcept {
  // Nine short strings with mostly different first letters: the compiler's comparison of size and
  // bytes is quicker than any table, and the common methods come first.
  for (std::size_t i = 0; i < kTokens.size(); ++i)
    if (kTokens[i] == token) return static_cast<Method>(i);
  return std::nullopt;
}

}  // namespace leantea

#include "base/scan.hpp"

namespace leantea::base {

const char* find_control(const char* p, const char* end) noexcept {
  while (p != end && ((static_cast<unsigned char>(*p) >= 0x20 && *p != 0x7f) || *p == '\t')) ++p;
  return p;
}

const char* skip_token(const char* p, const char* end) noexcept {
  const auto is_tchar = [](char c) {
    const auto letter = static_cast<unsigned char>(c | 0x20);
    if ((letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9')) return true;
    switch (c) {
      case '!': case '#': case '$': case '%': case '&': case '\'': case '*': case '+':
      case '-': case '.': case '^': case '_': case '`': case '|': case '~':
        return true;
      default:
        return false;
    }
  };
  while (p != end && is_tchar(*p)) ++p;
  return p;
}

}  // namespace leantea::base

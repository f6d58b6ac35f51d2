// LEANTEA_ASSERT: a precondition that stays on in release builds. A broken one is a bug in the
// caller: it prints where and what to standard error and aborts. Any thread.
#pragma once

namespace leantea::base {
[[noreturn]] void assertion_failed(const char* what, const char* file, int line) noexcept;
}

#define LEANTEA_ASSERT(condition)                    \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::leantea::base::assertion_failed(#condition, __FILE_NAME__, __LINE__))

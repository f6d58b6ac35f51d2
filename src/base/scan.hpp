// Byte scanning for the parsers: the few loops over input bytes that are worth SIMD.
//
// Pure functions, any thread. No function reads outside [p, end): inputs may end at an unreadable
// page. Each has one meaning and several implementations (plain C++, SSE2, AVX2, NEON); the best
// one that this processor has is chosen once, at start. All give equal results.
#pragma once

namespace leantea::base {

/// The first byte of [p, end) that no field value and no request line may hold: a control character
/// other than HTAB, or DEL (RFC 9110 §5.5). `end` when there is none. CR and LF are among them, so
/// this finds line ends. Bytes 0x80–0xFF pass (obs-text).
const char* find_control(const char* p, const char* end) noexcept;

/// The first byte of [p, end) that is not a tchar (RFC 9110 §5.6.2), or `end`.
const char* skip_token(const char* p, const char* end) noexcept;

}  // namespace leantea::base

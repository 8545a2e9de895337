// Waiting in the kernel without the pthread calls, which this library replaces.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>

#include "conformance/explore/preload/annotations.h"

namespace gradcts::schedule {

// The kernel is entered by hand: syscall() is one of the intercepted functions, and every use of it
// here would come back to the library.
#if defined(__x86_64__)
inline long enter_kernel(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
inline long enter_kernel(long number, long a, long b, long c, long d, long e, long f) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0"
               : "+r"(x0)
               : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
               : "memory");
  return x0;
}
#else
#error "the controlled scheduler knows x86-64 and aarch64"
#endif

inline long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
                  const timespec* time) {
  return enter_kernel(SYS_futex, reinterpret_cast<long>(&word), operation | FUTEX_PRIVATE_FLAG,
                      value, reinterpret_cast<long>(time), 0,
                      static_cast<int>(FUTEX_BITSET_MATCH_ANY));
}

// Sleeps while `word` has `value`: until a wake, a signal, or for no reason.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  futex(word, FUTEX_WAIT_BITSET, value, nullptr);
}

// The same until a point in time of `clock`. False once that has passed.
inline bool futex_wait_until(std::atomic<std::uint32_t>& word, std::uint32_t value, clockid_t clock,
                             const timespec& deadline) {
  const int flag = clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0;
  return futex(word, FUTEX_WAIT_BITSET | flag, value, &deadline) != -ETIMEDOUT;
}

inline void futex_wake_all(std::atomic<std::uint32_t>& word) {
  futex(word, FUTEX_WAKE, INT_MAX, nullptr);
}

// A lock that is not a pthread mutex. Usable before and after the life of any object: constant
// initialisation, no destructor.
class SCHEDULE_LOCK FutexLock {
 public:
  void lock() TAKES_LOCK() {
    std::uint32_t expected = free;
    if (state_.compare_exchange_strong(expected, taken, std::memory_order_acquire)) return;
    while (state_.exchange(contended, std::memory_order_acquire) != free) {
      futex_wait(state_, contended);
    }
  }

  void unlock() RELEASES_LOCK() {
    if (state_.exchange(free, std::memory_order_release) == contended) {
      futex(state_, FUTEX_WAKE, 1, nullptr);
    }
  }

 private:
  static constexpr std::uint32_t free = 0, taken = 1, contended = 2;
  std::atomic<std::uint32_t> state_{free};
};

class SCHEDULE_LOCK_SCOPE FutexGuard {
 public:
  explicit FutexGuard(FutexLock& lock) TAKES_LOCK(lock) : lock_(lock) { lock_.lock(); }
  ~FutexGuard() RELEASES_LOCK() { lock_.unlock(); }
  FutexGuard(const FutexGuard&) = delete;
  FutexGuard& operator=(const FutexGuard&) = delete;

 private:
  FutexLock& lock_;
};

}  // namespace gradcts::schedule

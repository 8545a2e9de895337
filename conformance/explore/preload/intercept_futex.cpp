// The system call for waiting on a word of memory. The C++ library waits in this way in
// std::future, std::atomic::wait, std::latch, std::barrier and std::counting_semaphore; it calls
// the kernel through the C library's syscall(), where it can be seen. glibc's own waits do not pass
// here.
#include <cstdarg>

#include "conformance/explore/preload/intercept.h"

namespace gradcts::schedule {
namespace {

struct FutexCall {
  std::uint32_t* word;
  int operation;
  std::uint32_t value;
  const timespec* time;

  int command() const { return operation & FUTEX_CMD_MASK; }
  bool waits() const { return command() == FUTEX_WAIT || command() == FUTEX_WAIT_BITSET; }
  bool wakes() const { return command() == FUTEX_WAKE || command() == FUTEX_WAKE_BITSET; }
};

// FUTEX_WAIT takes how long, FUTEX_WAIT_BITSET until when.
OptionalDeadline deadline_in(const FutexCall& call) {
  if (call.time == nullptr) return std::nullopt;
  if (call.command() == FUTEX_WAIT_BITSET) {
    const bool realtime = (call.operation & FUTEX_CLOCK_REALTIME) != 0;
    return deadline_of(realtime ? CLOCK_REALTIME : CLOCK_MONOTONIC, call.time);
  }
  return Deadline{CLOCK_MONOTONIC,
                  controller().read_clock(CLOCK_MONOTONIC) + to_nanoseconds(*call.time)};
}

int wait(const FutexCall& call) {
  const OptionalDeadline deadline = deadline_in(call);
  controller().point(Operation::wait, call.word);
  if (!controlled()) return 0;  // a wake-up for nothing
  return controller().wait_if(
      {.kind = WaitKind::futex, .object = call.word, .timed = deadline.has_value()}, deadline,
      [&call] { return std::atomic_ref(*call.word).load() == call.value; });
}

// As the kernel answers: a negative error number, or the result.
long answer(long number, const long (&a)[6]) {
  const auto in_kernel = [&] { return enter_kernel(number, a[0], a[1], a[2], a[3], a[4], a[5]); };
  if (number != SYS_futex) return in_kernel();
  const FutexCall call{reinterpret_cast<std::uint32_t*>(a[0]), static_cast<int>(a[1]),
                       static_cast<std::uint32_t>(a[2]), reinterpret_cast<const timespec*>(a[3])};
  if (call.waits() && controlled()) return -wait(call);
  if (!call.wakes()) return in_kernel();
  if (controlled()) controller().point(Operation::signal, call.word);
  const long woken = controller().wake(WaitKind::futex, call.word, call.value);
  const long woken_outside = in_kernel();
  return woken_outside < 0 ? woken_outside : woken + woken_outside;
}

}  // namespace
}  // namespace gradcts::schedule

GRADCTS_INTERCEPT long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  const long result = gradcts::schedule::answer(number, arguments);
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// Sleeping, yielding, and the clock: see Note [Time belongs to the schedule] in clock.h.
#include "conformance/explore/preload/intercept.h"

using namespace gradcts::schedule;

GRADCTS_INTERCEPT int sched_yield() noexcept {
  if (!controlled()) return real().yield();
  controller().yield();
  return 0;
}

GRADCTS_INTERCEPT int nanosleep(const timespec* time, timespec* left) {
  if (!controlled()) return real().nanosleep(time, left);
  controller().sleep(to_nanoseconds(*time));
  return 0;
}

GRADCTS_INTERCEPT int clock_nanosleep(clockid_t clock, int flags, const timespec* time,
                                      timespec* left) {
  if (!controlled() || !Clock::covers(clock)) {
    return real().clock_nanosleep(clock, flags, time, left);
  }
  const bool until = (flags & TIMER_ABSTIME) != 0;
  const std::int64_t begin = until ? controller().read_clock(clock) : 0;
  controller().sleep(to_nanoseconds(*time) - begin);
  return 0;
}

GRADCTS_INTERCEPT int usleep(useconds_t microseconds) {
  if (!controlled()) return real().usleep(microseconds);
  controller().sleep(std::int64_t{microseconds} * 1000);
  return 0;
}

GRADCTS_INTERCEPT unsigned int sleep(unsigned int seconds) {
  if (!controlled()) return real().sleep(seconds);
  controller().sleep(std::int64_t{seconds} * nanoseconds_per_second);
  return 0;
}

GRADCTS_INTERCEPT int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (!controlled() || !Clock::covers(clock)) return real().clock_gettime(clock, time);
  *time = to_timespec(controller().read_clock(clock));
  return 0;
}

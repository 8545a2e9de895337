// Time under control. See Note [Time belongs to the schedule].
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdint>

namespace gradcts::schedule {

inline constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;

constexpr std::int64_t to_nanoseconds(const timespec& time) {
  return time.tv_sec * nanoseconds_per_second + time.tv_nsec;
}

constexpr timespec to_timespec(std::int64_t nanoseconds) {
  return {nanoseconds / nanoseconds_per_second, nanoseconds % nanoseconds_per_second};
}

// A point in time of one of the two clocks in which programs state deadlines.
struct Deadline {
  clockid_t clock = CLOCK_REALTIME;
  std::int64_t nanoseconds = 0;
};

// Note [Time belongs to the schedule]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// A time-out under control fires because the strategy says so, usually long before its time. A
// program that then reads the clock (std::condition_variable does, to see whether the time is over)
// must find the deadline passed, or it would wait again, over and over, until real time has passed:
// slow, and different each time. So controlled threads read a clock of the schedule's own. It
// begins with the real time, stands still, and jumps to the deadline of each time-out that fires.
// Each reading moves it by a microsecond, so that a loop that only watches the clock ends. All
// other clocks (processor time), and all threads outside control, keep the real ones.
class Clock {
 public:
  static constexpr std::int64_t tick = 1000;

  static constexpr bool covers(clockid_t clock) {
    return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
  }

  void start(std::int64_t realtime, std::int64_t monotonic) {
    realtime_ = realtime;
    monotonic_ = monotonic;
  }

  std::int64_t read(clockid_t clock) {
    advance(tick);
    return now(clock);
  }

  std::int64_t now(clockid_t clock) const {
    return clock == CLOCK_REALTIME ? realtime_ : monotonic_;
  }
  bool has_passed(const Deadline& deadline) const {
    return now(deadline.clock) >= deadline.nanoseconds;
  }
  void reach(const Deadline& deadline) {
    advance(std::max<std::int64_t>(deadline.nanoseconds - now(deadline.clock), 0));
  }

 private:
  void advance(std::int64_t nanoseconds) {
    realtime_ += nanoseconds;
    monotonic_ += nanoseconds;
  }

  std::int64_t realtime_ = 0;
  std::int64_t monotonic_ = 0;
};

}  // namespace gradcts::schedule

// When a process that does not answer is taken to hang.
//
// Note [A busy machine is no hang]
// A process that waits for what never comes uses no processor time, and one that runs in circles
// all that it can get. One that is only slow, because other programs have the processors, gets on
// little by little. So a limit of time is extended as long as the process gets on, until it has
// used so much processor time itself, or the time was up ten times over.
//
// Thread safety: none.
#pragma once

#include <sys/types.h>

#include <chrono>

namespace gradcts {

// Milliseconds, rounded up, until then; 0 when it is past.
int left_ms(std::chrono::steady_clock::time_point deadline);

class Patience {
 public:
  // From now on; `process` lives, and was not waited for.
  void start(pid_t process, std::chrono::milliseconds limit);

  std::chrono::milliseconds limit() const { return limit_; }

  // Milliseconds, rounded up, until it is worth asking again; 0: the process hangs.
  int left_ms();

 private:
  using Clock = std::chrono::steady_clock;

  bool gets_on();

  pid_t process_ = -1;
  std::chrono::milliseconds limit_{};
  Clock::time_point started_, deadline_;
  std::chrono::nanoseconds used_at_start_{}, used_{};
};

}  // namespace gradcts

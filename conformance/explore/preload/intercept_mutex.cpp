// Mutexes. The real one is taken by the real trylock, see Note [Threads under control and outside].
#include "conformance/explore/preload/intercept.h"

namespace gradcts::schedule {
namespace {

// The kinds that glibc numbers in the low bits of the type: the error-checking one tells its holder
// instead of letting it wait for itself.
bool checks_errors(const pthread_mutex_t* mutex) {
  return (mutex->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK_NP;
}

int lock(pthread_mutex_t* mutex, const OptionalDeadline& deadline) {
  return controller().acquire(
      {.kind = WaitKind::mutex, .object = mutex, .timed = deadline.has_value()}, deadline,
      [mutex] { return real().mutex_trylock(mutex); }, checks_errors(mutex));
}

}  // namespace
}  // namespace gradcts::schedule

using namespace gradcts::schedule;

GRADCTS_INTERCEPT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  const int result = controlled() ? lock(mutex, std::nullopt) : control_ended;
  return result == control_ended ? real().mutex_lock(mutex) : result;
}

GRADCTS_INTERCEPT int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  const auto attempt = [mutex] { return real().mutex_trylock(mutex); };
  return controlled() ? controller().try_to_acquire(WaitKind::mutex, mutex, attempt) : attempt();
}

GRADCTS_INTERCEPT int pthread_mutex_timedlock(pthread_mutex_t* mutex,
                                              const timespec* time) noexcept {
  const int result = controlled() ? lock(mutex, deadline_of(CLOCK_REALTIME, time)) : control_ended;
  return result == control_ended ? real().mutex_timedlock(mutex, time) : result;
}

GRADCTS_INTERCEPT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                              const timespec* time) noexcept {
  const int result = controlled() ? lock(mutex, deadline_of(clock, time)) : control_ended;
  return result == control_ended ? real().mutex_clocklock(mutex, clock, time) : result;
}

GRADCTS_INTERCEPT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  const int result = real().mutex_unlock(mutex);
  if (result == 0) controller().released(WaitKind::mutex, mutex);
  return result;
}

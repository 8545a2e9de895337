// Locks for many readers or one writer.
#include "conformance/explore/preload/intercept.h"

namespace gradcts::schedule {
namespace {

int read_lock(pthread_rwlock_t* lock, const OptionalDeadline& deadline) {
  return controller().acquire(
      {.kind = WaitKind::rwlock, .object = lock, .timed = deadline.has_value(), .shared = true},
      deadline, [lock] { return real().rwlock_tryrdlock(lock); }, true);
}

int write_lock(pthread_rwlock_t* lock, const OptionalDeadline& deadline) {
  return controller().acquire(
      {.kind = WaitKind::rwlock, .object = lock, .timed = deadline.has_value()}, deadline,
      [lock] { return real().rwlock_trywrlock(lock); }, true);
}

}  // namespace
}  // namespace gradcts::schedule

using namespace gradcts::schedule;

GRADCTS_INTERCEPT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  const int result = controlled() ? read_lock(lock, std::nullopt) : control_ended;
  return result == control_ended ? real().rwlock_rdlock(lock) : result;
}

GRADCTS_INTERCEPT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  const auto attempt = [lock] { return real().rwlock_tryrdlock(lock); };
  if (!controlled()) return attempt();
  return controller().try_to_acquire(WaitKind::rwlock, lock, attempt, true);
}

GRADCTS_INTERCEPT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock,
                                                 const timespec* time) noexcept {
  const int result =
      controlled() ? read_lock(lock, deadline_of(CLOCK_REALTIME, time)) : control_ended;
  return result == control_ended ? real().rwlock_timedrdlock(lock, time) : result;
}

GRADCTS_INTERCEPT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                                 const timespec* time) noexcept {
  const int result = controlled() ? read_lock(lock, deadline_of(clock, time)) : control_ended;
  return result == control_ended ? real().rwlock_clockrdlock(lock, clock, time) : result;
}

GRADCTS_INTERCEPT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  const int result = controlled() ? write_lock(lock, std::nullopt) : control_ended;
  return result == control_ended ? real().rwlock_wrlock(lock) : result;
}

GRADCTS_INTERCEPT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  const auto attempt = [lock] { return real().rwlock_trywrlock(lock); };
  return controlled() ? controller().try_to_acquire(WaitKind::rwlock, lock, attempt) : attempt();
}

GRADCTS_INTERCEPT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock,
                                                 const timespec* time) noexcept {
  const int result =
      controlled() ? write_lock(lock, deadline_of(CLOCK_REALTIME, time)) : control_ended;
  return result == control_ended ? real().rwlock_timedwrlock(lock, time) : result;
}

GRADCTS_INTERCEPT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                                 const timespec* time) noexcept {
  const int result = controlled() ? write_lock(lock, deadline_of(clock, time)) : control_ended;
  return result == control_ended ? real().rwlock_clockwrlock(lock, clock, time) : result;
}

GRADCTS_INTERCEPT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  const int result = real().rwlock_unlock(lock);
  if (result == 0) controller().released(WaitKind::rwlock, lock);
  return result;
}

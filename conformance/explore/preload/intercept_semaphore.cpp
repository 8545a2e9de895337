// POSIX semaphores.
#include "conformance/explore/preload/intercept.h"

namespace gradcts::schedule {
namespace {

// The functions of semaphores return -1 and set errno; the controller speaks in error numbers.
int try_wait(sem_t* semaphore) {
  if (real().semaphore_trywait(semaphore) == 0) return 0;
  return errno == EAGAIN ? EBUSY : errno;
}

int with_errno(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

int wait(sem_t* semaphore, const OptionalDeadline& deadline) {
  return controller().acquire(
      {.kind = WaitKind::semaphore, .object = semaphore, .timed = deadline.has_value()}, deadline,
      [semaphore] { return try_wait(semaphore); });
}

}  // namespace
}  // namespace gradcts::schedule

using namespace gradcts::schedule;

GRADCTS_INTERCEPT int sem_wait(sem_t* semaphore) {
  const int result = controlled() ? wait(semaphore, std::nullopt) : control_ended;
  return result == control_ended ? real().semaphore_wait(semaphore) : with_errno(result);
}

GRADCTS_INTERCEPT int sem_trywait(sem_t* semaphore) noexcept {
  if (!controlled()) return real().semaphore_trywait(semaphore);
  const int result = controller().try_to_acquire(WaitKind::semaphore, semaphore,
                                                 [semaphore] { return try_wait(semaphore); });
  return with_errno(result == EBUSY ? EAGAIN : result);
}

GRADCTS_INTERCEPT int sem_timedwait(sem_t* semaphore, const timespec* time) {
  const int result =
      controlled() ? wait(semaphore, deadline_of(CLOCK_REALTIME, time)) : control_ended;
  return result == control_ended ? real().semaphore_timedwait(semaphore, time) : with_errno(result);
}

GRADCTS_INTERCEPT int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* time) {
  const int result = controlled() ? wait(semaphore, deadline_of(clock, time)) : control_ended;
  return result == control_ended ? real().semaphore_clockwait(semaphore, clock, time)
                                 : with_errno(result);
}

GRADCTS_INTERCEPT int sem_post(sem_t* semaphore) noexcept {
  if (controlled()) controller().point(Operation::post, semaphore);
  const int result = real().semaphore_post(semaphore);
  if (result == 0) controller().released(WaitKind::semaphore, semaphore);
  return result;
}

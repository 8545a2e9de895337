// Threads, and what happens once for all of them.
#include "conformance/explore/preload/intercept.h"

namespace gradcts::schedule {
namespace {

// The initialisation of an object by the calling thread, until the end of the scope.
class Initialisation {
 public:
  Initialisation(WaitKind kind, const void* object) : kind_(kind), object_(object) {
    controller().begin_initialisation(kind, object);
  }
  ~Initialisation() { controller().end_initialisation(kind_, object_); }
  Initialisation(const Initialisation&) = delete;
  Initialisation& operator=(const Initialisation&) = delete;

 private:
  WaitKind kind_;
  const void* object_;
};

}  // namespace
}  // namespace gradcts::schedule

using namespace gradcts::schedule;

GRADCTS_INTERCEPT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                     void* (*function)(void*), void* argument) noexcept {
  return controller().create(thread, attributes, function, argument);
}

GRADCTS_INTERCEPT int pthread_join(pthread_t thread, void** result) {
  return controller().join(thread, result);
}

GRADCTS_INTERCEPT int pthread_detach(pthread_t thread) noexcept {
  return controller().detach(thread);
}

GRADCTS_INTERCEPT int pthread_once(pthread_once_t* once, void (*function)()) {
  if (!controlled()) return real().once(once, function);
  const Initialisation initialisation(WaitKind::once, once);
  return real().once(once, function);
}

// The compiler calls these three around the initialisation of a static object in a function, unless
// it sees that it is over. 1: the caller is to initialise it, and to release or abort afterwards.
GRADCTS_INTERCEPT int __cxa_guard_acquire(std::uint64_t* guard) {
  if (!controlled()) return real().guard_acquire(guard);
  controller().begin_initialisation(WaitKind::guard, guard);
  const int to_do = real().guard_acquire(guard);
  if (to_do == 0) controller().end_initialisation(WaitKind::guard, guard);
  return to_do;
}

GRADCTS_INTERCEPT void __cxa_guard_release(std::uint64_t* guard) noexcept {
  real().guard_release(guard);
  controller().end_initialisation(WaitKind::guard, guard);
}

GRADCTS_INTERCEPT void __cxa_guard_abort(std::uint64_t* guard) noexcept {
  real().guard_abort(guard);
  controller().end_initialisation(WaitKind::guard, guard);
}

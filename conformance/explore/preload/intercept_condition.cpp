// Conditions: see Note [Condition waits are the library's own] in control.cpp.
#include <climits>

#include "conformance/explore/preload/intercept.h"

namespace gradcts::schedule {
namespace {

// What a program has chosen for a condition, where that is not the default.
struct Chosen {
  const pthread_cond_t* condition;
  clockid_t clock;
  bool shared_between_processes;
};

class ChosenAttributes {
 public:
  void set(const Chosen& chosen) NEEDS_NO_LOCK(lock_) {
    FutexGuard guard(lock_);
    all_.push_back(chosen);
    is_empty_ = false;
  }

  void forget(const pthread_cond_t* condition) NEEDS_NO_LOCK(lock_) {
    if (is_empty_) return;
    FutexGuard guard(lock_);
    std::erase_if(all_, [condition](const Chosen& c) { return c.condition == condition; });
    is_empty_ = all_.empty();
  }

  Chosen of(const pthread_cond_t* condition) NEEDS_NO_LOCK(lock_) {
    if (!is_empty_) {
      FutexGuard guard(lock_);
      for (const Chosen& chosen : all_) {
        if (chosen.condition == condition) return chosen;
      }
    }
    return {condition, CLOCK_REALTIME, false};
  }

 private:
  FutexLock lock_;
  std::atomic<bool> is_empty_{true};  // so that those who never chose pay nothing
  PageVector<Chosen> all_ GUARDED_BY_LOCK(lock_);
};

constinit WithoutEnd<ChosenAttributes> chosen_attributes;

int wait(pthread_cond_t* condition, pthread_mutex_t* mutex, const OptionalDeadline& deadline) {
  if (chosen_attributes.object.of(condition).shared_between_processes) return control_ended;
  if (deadline && !Clock::covers(deadline->clock)) return EINVAL;
  return controller().wait_for_condition(condition, mutex, deadline);
}

}  // namespace
}  // namespace gradcts::schedule

using namespace gradcts::schedule;

GRADCTS_INTERCEPT int pthread_cond_init(pthread_cond_t* condition,
                                        const pthread_condattr_t* attributes) noexcept {
  chosen_attributes.object.forget(condition);
  if (attributes != nullptr) {
    Chosen chosen{condition, CLOCK_REALTIME, false};
    int sharing = PTHREAD_PROCESS_PRIVATE;
    pthread_condattr_getclock(attributes, &chosen.clock);
    pthread_condattr_getpshared(attributes, &sharing);
    chosen.shared_between_processes = sharing == PTHREAD_PROCESS_SHARED;
    const bool is_default = chosen.clock == CLOCK_REALTIME && !chosen.shared_between_processes;
    if (!is_default) chosen_attributes.object.set(chosen);
  }
  return real().cond_init(condition, attributes);
}

GRADCTS_INTERCEPT int pthread_cond_destroy(pthread_cond_t* condition) noexcept {
  chosen_attributes.object.forget(condition);
  return real().cond_destroy(condition);
}

GRADCTS_INTERCEPT int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  const int result = wait(condition, mutex, std::nullopt);
  return result == control_ended ? real().cond_wait(condition, mutex) : result;
}

GRADCTS_INTERCEPT int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                             const timespec* time) {
  const clockid_t clock = chosen_attributes.object.of(condition).clock;
  const int result = wait(condition, mutex, deadline_of(clock, time));
  return result == control_ended ? real().cond_timedwait(condition, mutex, time) : result;
}

GRADCTS_INTERCEPT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                             clockid_t clock, const timespec* time) {
  const int result = wait(condition, mutex, deadline_of(clock, time));
  return result == control_ended ? real().cond_clockwait(condition, mutex, clock, time) : result;
}

GRADCTS_INTERCEPT int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  controller().signal(condition, 1);
  return real().cond_signal(condition);
}

GRADCTS_INTERCEPT int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  controller().signal(condition, UINT32_MAX);
  return real().cond_broadcast(condition);
}

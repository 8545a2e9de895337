#include "conformance/explore/preload/real_calls.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

namespace gradcts::schedule {
namespace {

// Note [Start-up]
// ~~~~~~~~~~~~~~~
// The first intercepted call may come before any constructor of this library has run: from the
// constructor of another library, or from the start of the program's allocator. So the table is
// filled by whoever needs it first, and no static object here has a constructor (`constinit`).
//
// Looking a name up may allocate, and an allocator may lock a mutex, which comes back here before
// the table is there. The process has one thread then, and such a lock needs no locking: the table
// begins with functions that only say yes.
int yes(pthread_mutex_t*) noexcept {
  return 0;
}

constinit RealCalls table = [] {
  RealCalls calls{};
  calls.mutex_lock = yes;
  calls.mutex_trylock = yes;
  calls.mutex_unlock = yes;
  return calls;
}();

enum State : int { unfilled, being_filled, filled };
constinit std::atomic<int> state = unfilled;

// `version` matters where a system has two functions of one name: on x86-64 the conditions of
// before 2003 have another layout, and a plain look-up finds those. Other systems have no such
// version.
template <typename Function>
void look_up(Function& function, const char* name, const char* version = nullptr) {
  void* found = version ? dlvsym(RTLD_NEXT, name, version) : nullptr;
  if (found == nullptr) found = dlsym(RTLD_NEXT, name);
  function = reinterpret_cast<Function>(found);
}

void look_up_mutexes(RealCalls& calls) {
  look_up(calls.mutex_lock, "pthread_mutex_lock");
  look_up(calls.mutex_trylock, "pthread_mutex_trylock");
  look_up(calls.mutex_timedlock, "pthread_mutex_timedlock");
  look_up(calls.mutex_clocklock, "pthread_mutex_clocklock");
  look_up(calls.mutex_unlock, "pthread_mutex_unlock");
}

void look_up_rwlocks(RealCalls& calls) {
  look_up(calls.rwlock_rdlock, "pthread_rwlock_rdlock");
  look_up(calls.rwlock_tryrdlock, "pthread_rwlock_tryrdlock");
  look_up(calls.rwlock_timedrdlock, "pthread_rwlock_timedrdlock");
  look_up(calls.rwlock_clockrdlock, "pthread_rwlock_clockrdlock");
  look_up(calls.rwlock_wrlock, "pthread_rwlock_wrlock");
  look_up(calls.rwlock_trywrlock, "pthread_rwlock_trywrlock");
  look_up(calls.rwlock_timedwrlock, "pthread_rwlock_timedwrlock");
  look_up(calls.rwlock_clockwrlock, "pthread_rwlock_clockwrlock");
  look_up(calls.rwlock_unlock, "pthread_rwlock_unlock");
}

void look_up_conditions(RealCalls& calls) {
  constexpr const char* version = "GLIBC_2.3.2";
  look_up(calls.cond_init, "pthread_cond_init", version);
  look_up(calls.cond_destroy, "pthread_cond_destroy", version);
  look_up(calls.cond_wait, "pthread_cond_wait", version);
  look_up(calls.cond_timedwait, "pthread_cond_timedwait", version);
  look_up(calls.cond_clockwait, "pthread_cond_clockwait");
  look_up(calls.cond_signal, "pthread_cond_signal", version);
  look_up(calls.cond_broadcast, "pthread_cond_broadcast", version);
}

void look_up_threads(RealCalls& calls) {
  look_up(calls.create, "pthread_create");
  look_up(calls.join, "pthread_join");
  look_up(calls.detach, "pthread_detach");
  look_up(calls.once, "pthread_once");
  look_up(calls.guard_acquire, "__cxa_guard_acquire");
  look_up(calls.guard_release, "__cxa_guard_release");
  look_up(calls.guard_abort, "__cxa_guard_abort");
}

void look_up_semaphores(RealCalls& calls) {
  look_up(calls.semaphore_wait, "sem_wait");
  look_up(calls.semaphore_trywait, "sem_trywait");
  look_up(calls.semaphore_timedwait, "sem_timedwait");
  look_up(calls.semaphore_clockwait, "sem_clockwait");
  look_up(calls.semaphore_post, "sem_post");
}

void look_up_time(RealCalls& calls) {
  look_up(calls.yield, "sched_yield");
  look_up(calls.nanosleep, "nanosleep");
  look_up(calls.clock_nanosleep, "clock_nanosleep");
  look_up(calls.usleep, "usleep");
  look_up(calls.sleep, "sleep");
  look_up(calls.clock_gettime, "clock_gettime");
}

void fill() {
  RealCalls calls{};
  look_up_mutexes(calls);
  look_up_rwlocks(calls);
  look_up_conditions(calls);
  look_up_threads(calls);
  look_up_semaphores(calls);
  look_up_time(calls);
  if (calls.mutex_lock == nullptr || calls.cond_wait == nullptr) std::abort();
  table = calls;
}

}  // namespace

const RealCalls& real() {
  if (state.load(std::memory_order_acquire) == unfilled) {
    state.store(being_filled, std::memory_order_relaxed);
    fill();
    state.store(filled, std::memory_order_release);
  }
  return table;
}

}  // namespace gradcts::schedule

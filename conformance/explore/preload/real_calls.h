// The functions that this library stands in front of.
#pragma once

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace gradcts::schedule {

struct RealCalls {
  decltype(&::pthread_mutex_lock) mutex_lock;
  decltype(&::pthread_mutex_trylock) mutex_trylock;
  decltype(&::pthread_mutex_timedlock) mutex_timedlock;
  decltype(&::pthread_mutex_clocklock) mutex_clocklock;
  decltype(&::pthread_mutex_unlock) mutex_unlock;

  decltype(&::pthread_rwlock_rdlock) rwlock_rdlock;
  decltype(&::pthread_rwlock_tryrdlock) rwlock_tryrdlock;
  decltype(&::pthread_rwlock_timedrdlock) rwlock_timedrdlock;
  decltype(&::pthread_rwlock_clockrdlock) rwlock_clockrdlock;
  decltype(&::pthread_rwlock_wrlock) rwlock_wrlock;
  decltype(&::pthread_rwlock_trywrlock) rwlock_trywrlock;
  decltype(&::pthread_rwlock_timedwrlock) rwlock_timedwrlock;
  decltype(&::pthread_rwlock_clockwrlock) rwlock_clockwrlock;
  decltype(&::pthread_rwlock_unlock) rwlock_unlock;

  decltype(&::pthread_cond_init) cond_init;
  decltype(&::pthread_cond_destroy) cond_destroy;
  decltype(&::pthread_cond_wait) cond_wait;
  decltype(&::pthread_cond_timedwait) cond_timedwait;
  decltype(&::pthread_cond_clockwait) cond_clockwait;
  decltype(&::pthread_cond_signal) cond_signal;
  decltype(&::pthread_cond_broadcast) cond_broadcast;

  decltype(&::pthread_create) create;
  decltype(&::pthread_join) join;
  decltype(&::pthread_detach) detach;
  decltype(&::pthread_once) once;

  int (*guard_acquire)(std::uint64_t*);
  void (*guard_release)(std::uint64_t*);
  void (*guard_abort)(std::uint64_t*);

  decltype(&::sem_wait) semaphore_wait;
  decltype(&::sem_trywait) semaphore_trywait;
  decltype(&::sem_timedwait) semaphore_timedwait;
  decltype(&::sem_clockwait) semaphore_clockwait;
  decltype(&::sem_post) semaphore_post;

  decltype(&::sched_yield) yield;
  decltype(&::nanosleep) nanosleep;
  decltype(&::clock_nanosleep) clock_nanosleep;
  decltype(&::usleep) usleep;
  decltype(&::sleep) sleep;
  decltype(&::clock_gettime) clock_gettime;
};

// Usable at any time, also before the constructors of this library have run.
const RealCalls& real();

}  // namespace gradcts::schedule

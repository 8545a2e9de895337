/* The controlled scheduler, for whoever runs an engine under control.
 *
 * `libgradcts-schedule.so`, preloaded (LD_PRELOAD), takes over the pthread calls of a process.
 * Until control begins they do what they always do. Between begin and end one token passes between
 * the controlled threads: exactly one of them runs, and at each call the strategy decides which.
 * The same options give the same schedule.
 *
 *   gradcts_schedule_begin_function* begin = (...)dlsym(RTLD_DEFAULT, "gradcts_schedule_begin");
 *   if (begin == NULL) -> the library is not preloaded
 *   for each seed: { begin(&options); run_the_scenario(); end(&result); }
 *
 * What comes under control: the thread that calls begin; every thread that sleeps in a condition
 * wait at that moment (an engine's pool); every thread that a controlled thread creates. begin
 * waits until the other threads of the process have gone to sleep, for at most a second.
 *
 * Warm up. The first schedule of a process differs from the next, since pools are made in it. Start
 * the engine by one call from one thread, then take one schedule under control (a replay of "" is
 * the tamest) and drop its result. An engine that several threads have warmed up without control
 * may be left with a pool of another size each time, and then schedules differ.
 *
 * For speed, pin the process to one core: only one thread runs anyway.
 *
 * A schedule that cannot end has no end call. The library writes the report to the file descriptor
 * named by GRADCTS_SCHEDULE_FD (default 2), calls on_report, and leaves the process with the
 * outcome as its exit status, without running exit handlers. A new process takes the next seed.
 *
 * docs/schedules.md explains how it works and what it does not see.
 */
#ifndef GRADCTS_SCHEDULE_H
#define GRADCTS_SCHEDULE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GRADCTS_SCHEDULE_VERSION 1

enum gradcts_schedule_strategy {
  GRADCTS_SCHEDULE_RANDOM = 0, /* at each step any thread that can run, with equal chance */
  GRADCTS_SCHEDULE_PCT = 1, /* random priorities; depth - 1 times the running thread falls behind */
  GRADCTS_SCHEDULE_REPLAY =
      2, /* what `schedule` says; after its end, no switch that is not forced */
  GRADCTS_SCHEDULE_POS =
      3 /* random priorities of operations, drawn anew where they meet on an object */
};

/* Those that end the process are its exit status. */
enum gradcts_schedule_outcome {
  GRADCTS_SCHEDULE_COMPLETED = 0,
  GRADCTS_SCHEDULE_DEADLOCK = 91, /* threads wait for each other, or nothing can run */
  GRADCTS_SCHEDULE_STEP_BOUND =
      92,                     /* step_bound steps without an end: a livelock, or a small bound */
  GRADCTS_SCHEDULE_STALL = 93 /* no step for watchdog_ms: a wait that the library cannot see */
};

/* What was decided, for a search over all schedules. */
enum gradcts_schedule_decision_kind {
  GRADCTS_SCHEDULE_NEXT = 0,     /* which thread takes the next step */
  GRADCTS_SCHEDULE_WOKEN = 1,    /* which of several threads a signal wakes */
  GRADCTS_SCHEDULE_BY_ITSELF = 2 /* whose wait ended by itself, or timed out */
};

/* One choice of the schedule's text. Threads are bits: thread 0 is bit 0. */
struct gradcts_schedule_decision {
  uint64_t state;    /* equal states go on in equal ways; before the choice */
  uint64_t able;     /* the threads among which was chosen */
  uint64_t sleepers; /* next: whose wait could have ended by itself instead */
  uint64_t object;   /* next: what the step of the thread that ran so far would have been about */
  int32_t running;   /* next: that thread, if it could have gone on; else -1, and no choice preempts */
  int32_t chosen;
  uint32_t kind; /* gradcts_schedule_decision_kind */
};

struct gradcts_schedule_result {
  uint32_t outcome;
  uint32_t threads;         /* that were under control at some time */
  uint32_t threads_outside; /* others that made calls meanwhile: if not 0, schedules may differ */
  uint64_t steps;           /* decisions who runs next */
  uint64_t switches;        /* steps at which another thread went on */
  uint64_t hash;            /* of every decision, and of what the thread was about to do */
  uint64_t mismatch_step;   /* replay: the first step that could not be followed; 0 if none */
  const char* schedule;     /* for GRADCTS_SCHEDULE_REPLAY; valid until the next begin */
  const char* report;       /* text for people, null when completed */
  /* For engines that were rebuilt for it (docs/schedules.md); otherwise null and 0. Valid until the
   * next begin. */
  const struct gradcts_schedule_decision* decisions;
  uint64_t decision_count;
  const uint64_t* shared_objects; /* that more than one thread used */
  uint64_t shared_object_count;
  uint64_t meaning; /* equal for schedules that differ only in the order of what commutes */
};

/* Zero in any field but version means its default. */
struct gradcts_schedule_options {
  uint32_t version;  /* GRADCTS_SCHEDULE_VERSION */
  uint32_t strategy; /* gradcts_schedule_strategy */
  uint64_t seed;
  uint32_t depth; /* PCT: how many orderings the bug needs; default 3 */
  uint32_t
      spurious_per_mille;  /* chance, at each step, that a condition wait ends by itself: without a
                              signal or, if it is timed, by its time-out. At 0 (the default) there
                              are no spurious wake-ups, and time passes when nothing else can run */
  uint64_t expected_steps; /* PCT: the changes fall into the first so many steps; default 1000 */
  uint64_t step_bound;     /* default 1,000,000 */
  uint32_t watchdog_ms;    /* default 10,000 */
  const char* schedule;    /* what to replay */
  uint32_t spurious_limit; /* at most so many waits end by themselves; default: no limit */
  /* Called in a process that is about to exit, with every thread stopped: write and return. */
  void (*on_report)(const struct gradcts_schedule_result* result, void* context);
  void* context;
};

/* Control begins, with the calling thread as thread 0. Returns 0; EINVAL if the options mean
 * nothing (unknown version or strategy, a schedule that cannot be read); EBUSY if control is on
 * already. */
int gradcts_schedule_begin(const struct gradcts_schedule_options* options);

/* Lets the other threads run until each waits or has ended, then ends control and fills *result.
 * Returns 0, or EPERM if the calling thread is not under control. */
int gradcts_schedule_end(struct gradcts_schedule_result* result);

typedef int gradcts_schedule_begin_function(const struct gradcts_schedule_options*);
typedef int gradcts_schedule_end_function(struct gradcts_schedule_result*);

#ifdef __cplusplus
}
#endif

#endif /* GRADCTS_SCHEDULE_H */

// Where the threads of the process meet the scheduler: passes the token, parks who has it not,
// takes threads under control and lets them go. One for the process, usable before any constructor
// and after any destructor. See Note [Threads under control and outside] in controller.cpp.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <string>

#include "conformance/explore/preload/chosen_strategy.h"
#include "conformance/explore/preload/clock.h"
#include "conformance/explore/preload/futex.h"
#include "conformance/explore/preload/schedule.h"
#include "conformance/explore/preload/scheduler.h"
#include "conformance/explore/preload/thread_record.h"

namespace gradcts::schedule {

// For objects that exist before any constructor has run and are never destroyed, because threads
// still use them while the process ends.
template <typename T>
union WithoutEnd {
  T object;
  constexpr WithoutEnd() : object() {}
  ~WithoutEnd() {}
};

// In the place of an error number: control ended during the call, which has taken nothing. The
// caller goes on with the real function.
inline constexpr int control_ended = -1;

using OptionalDeadline = std::optional<Deadline>;

class Controller {
 public:
  constexpr Controller() = default;

  // --- The interface of schedule.h.
  int begin(const gradcts_schedule_options& options);
  int end(gradcts_schedule_result& result);

  // True if the calling thread is under control, and then it has the token. Cheap: each intercepted
  // call asks. The answer holds until the next call of a function below.
  bool controls_caller() const;

  // --- For a thread under control. Each may let others run first.
  void point(Operation operation, const void* object);
  void yield();
  // Takes wait.object by attempt(), which returns 0 (taken), EBUSY (wait and try again) or an
  // error, which is the result. With `refuses_holder`, EDEADLK where the caller holds the object
  // itself.
  template <typename Attempt>
  int acquire(const Wait& wait, const OptionalDeadline& deadline, Attempt attempt,
              bool refuses_holder = false);
  template <typename Attempt>
  int try_to_acquire(WaitKind kind, const void* object, Attempt attempt, bool shared = false);
  // Waits if wanted() (EAGAIN otherwise), until woken: 0, or ETIMEDOUT. No other thread runs
  // between the question and the wait.
  template <typename Predicate>
  int wait_if(const Wait& wait, const OptionalDeadline& deadline, Predicate wanted);
  void sleep(std::int64_t nanoseconds);
  // Afterwards no other thread under control is in the initialisation of `object`.
  void begin_initialisation(WaitKind kind, const void* object);
  void end_initialisation(WaitKind kind, const void* object) { released(kind, object); }
  std::int64_t read_clock(clockid_t clock);

  // --- For any thread.
  // After the real release of a lock: whoever waits for it tries again.
  void released(WaitKind kind, const void* object);
  // Up to `count` threads that wait for the object go on; returns how many.
  std::uint32_t wake(WaitKind kind, const void* object, std::uint32_t count);
  int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex,
                         const OptionalDeadline& deadline);
  void signal(pthread_cond_t* condition, std::uint32_t count);
  int create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
             void* argument);
  int join(pthread_t thread, void** result);
  int detach(pthread_t thread);
  void enter();
  void leave();

  // --- The life of threads and of the process.
  void start_up();
  void thread_starts(ThreadRecord& self);
  void thread_ends(ThreadRecord& self);
  void before_fork() LOCK_NOT_CHECKED { lock_.lock(); }
  void after_fork_in_parent() LOCK_NOT_CHECKED { lock_.unlock(); }
  void after_fork_in_child() LOCK_NOT_CHECKED;
  // Looks every now and then whether the schedule still makes steps.
  [[noreturn]] void watch();

 private:
  // Passing the token (token.cpp).
  void follow(ThreadRecord& self, Verdict verdict) NEEDS_LOCK(lock_);
  ThreadRecord* whose_turn(Verdict verdict) NEEDS_LOCK(lock_);
  void park(ThreadRecord& self, ThreadRecord* next) NEEDS_LOCK(lock_);
  bool is_awake(ThreadRecord& self, bool in_time) NEEDS_LOCK(lock_);
  Woken wait(ThreadRecord& self, const Wait& wait, const OptionalDeadline& deadline)
      NEEDS_LOCK(lock_);
  Woken sleep_outside(ThreadRecord& self, const void* condition, const OptionalDeadline& deadline)
      NEEDS_LOCK(lock_);
  Woken how_woken(ThreadRecord& self) NEEDS_LOCK(lock_);
  void resume_if_idle() NEEDS_LOCK(lock_);
  bool somebody_outside_may_act() const NEEDS_LOCK(lock_);
  void changed_outside() NEEDS_LOCK(lock_);

  // The parts of calls.
  void released_by_caller(WaitKind kind, const void* object) NEEDS_LOCK(lock_);
  void note_caller_outside() NEEDS_LOCK(lock_);
  void await_end(ThreadRecord& self, const ThreadRecord* target) NEEDS_LOCK(lock_);
  void step_out(ThreadRecord& self) NEEDS_LOCK(lock_);
  template <typename Attempt>
  int take_object(ThreadRecord& self, const Wait& wait, const OptionalDeadline& deadline,
                  Attempt attempt, bool refuses_holder) NEEDS_LOCK(lock_);
  int lock_again(pthread_mutex_t* mutex) NEEDS_NO_LOCK(lock_);

  // Taking threads under control and letting them go (control.cpp).
  ThreadRecord& this_thread() NEEDS_LOCK(lock_);
  void wait_until_others_sleep(const ThreadRecord& self) NEEDS_LOCK(lock_);
  bool others_sleep(const ThreadRecord& self, bool give_up) NEEDS_LOCK(lock_);
  void take(ThreadRecord& record, ThreadNumber number) NEEDS_LOCK(lock_);
  void take_sleepers() NEEDS_LOCK(lock_);
  bool takes_part(const ThreadRecord& record) const NEEDS_LOCK(lock_);
  void let_go(ThreadRecord& record) NEEDS_LOCK(lock_);
  void start_watchdog() NEEDS_LOCK(lock_);

  // What came out.
  gradcts_schedule_result result(gradcts_schedule_outcome outcome) NEEDS_LOCK(lock_);
  [[noreturn]] void fail(gradcts_schedule_outcome outcome) NEEDS_LOCK(lock_);
  std::string report(gradcts_schedule_outcome outcome) NEEDS_LOCK(lock_);

  FutexLock lock_;
  std::atomic<bool> on_{false};
  std::atomic<std::uint32_t> changes_{0};  // outside: raised when a thread goes to sleep or ends...
  bool changes_awaited_ GUARDED_BY_LOCK(lock_) = false;  // ...and somebody waits for that
  bool has_watchdog_ GUARDED_BY_LOCK(lock_) = false;
  std::uint64_t schedules_ GUARDED_BY_LOCK(lock_) = 0;  // begun so far
  std::uint64_t progress_ GUARDED_BY_LOCK(lock_) = 0;   // steps of all of them
  std::uint64_t tickets_ GUARDED_BY_LOCK(lock_) = 0;
  std::uint32_t seen_outside_ GUARDED_BY_LOCK(lock_) = 0;
  ThreadTable threads_ GUARDED_BY_LOCK(lock_);
  PageVector<ThreadRecord*> by_number_ GUARDED_BY_LOCK(lock_);
  PageVector<ThreadRecord*> sleepers_ GUARDED_BY_LOCK(lock_);  // while control begins
  ChosenStrategy strategy_ GUARDED_BY_LOCK(lock_);
  Scheduler scheduler_ GUARDED_BY_LOCK(lock_);
  Clock clock_ GUARDED_BY_LOCK(lock_);
};

Controller& controller();

// The record of the calling thread. Null before it needs one, and again at its very end.
extern thread_local constinit ThreadRecord* this_thread_record
    __attribute__((tls_model("initial-exec")));

inline bool Controller::controls_caller() const {
  const ThreadRecord* self = this_thread_record;
  return self != nullptr && self->controlled.load(std::memory_order_relaxed);
}

template <typename Attempt>
int Controller::acquire(const Wait& wait, const OptionalDeadline& deadline, Attempt attempt,
                        bool refuses_holder) {
  FutexGuard guard(lock_);
  ThreadRecord& self = *this_thread_record;
  follow(self, scheduler_.point(Operation::lock, wait.object));
  return take_object(self, wait, deadline, attempt, refuses_holder);
}

template <typename Attempt>
int Controller::take_object(ThreadRecord& self, const Wait& wait, const OptionalDeadline& deadline,
                            Attempt attempt, bool refuses_holder) {
  while (self.controlled) {
    const int result = attempt();
    const bool taken = result == 0 || result == EOWNERDEAD;
    if (taken && wait.kind != WaitKind::semaphore) {
      scheduler_.acquired(wait.kind, wait.object, wait.shared);
    }
    if (result != EBUSY) return result;
    const Scheduler::Hold* hold = scheduler_.hold_of(self.number, wait.kind, wait.object);
    if (refuses_holder && hold != nullptr && !hold->shared) return EDEADLK;
    if (this->wait(self, wait, deadline) == Woken::by_time_out) return ETIMEDOUT;
  }
  return control_ended;
}

template <typename Attempt>
int Controller::try_to_acquire(WaitKind kind, const void* object, Attempt attempt, bool shared) {
  FutexGuard guard(lock_);
  ThreadRecord& self = *this_thread_record;
  follow(self, scheduler_.point(Operation::lock, object));
  const int result = attempt();
  const bool taken = result == 0 || result == EOWNERDEAD;
  if (self.controlled && taken && kind != WaitKind::semaphore) {
    scheduler_.acquired(kind, object, shared);
  }
  return result;
}

template <typename Predicate>
int Controller::wait_if(const Wait& wait, const OptionalDeadline& deadline, Predicate wanted) {
  FutexGuard guard(lock_);
  ThreadRecord& self = *this_thread_record;
  if (!wanted()) return EAGAIN;
  return this->wait(self, wait, deadline) == Woken::by_time_out ? ETIMEDOUT : 0;
}

}  // namespace gradcts::schedule

// What the controller does for single calls, and for the life of threads.
#include <limits.h>
#include <sys/syscall.h>

#include "conformance/explore/preload/controller.h"
#include "conformance/explore/preload/real_calls.h"

namespace gradcts::schedule {
namespace {

constinit WithoutEnd<Controller> the_controller;
constinit pthread_key_t exit_key = 0;
// True once the thread has left the library's books.
thread_local constinit bool has_ended __attribute__((tls_model("initial-exec"))) = false;

pid_t kernel_id_of_caller() {
  return static_cast<pid_t>(enter_kernel(SYS_gettid, 0, 0, 0, 0, 0, 0));
}

// Note [The end of a thread]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~
// After its function has returned, a thread still runs code of the program: destructors of
// thread_local objects, then those of pthread keys, in up to PTHREAD_DESTRUCTOR_ITERATIONS rounds.
// Engines lock mutexes there, so the thread must stay under control until all of it is done. A key
// of the library's own puts itself back in every round but the last, where its destructor ends the
// thread's part in the schedule. The key is made at start-up and so comes before those of the
// program in each round: what a destructor of another key does in the last round is done outside
// control.
void on_thread_exit(void* argument) {
  auto& self = *static_cast<ThreadRecord*>(argument);
  if (++self.exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(exit_key, argument);
  } else {
    controller().thread_ends(self);
  }
}

void* thread_main(void* argument) {
  auto& self = *static_cast<ThreadRecord*>(argument);
  controller().thread_starts(self);
  return self.function(self.argument);
}

}  // namespace

thread_local constinit ThreadRecord* this_thread_record __attribute__((tls_model("initial-exec"))) =
    nullptr;

Controller& controller() {
  return the_controller.object;
}

void Controller::start_up() {
  pthread_key_create(&exit_key, on_thread_exit);
  FutexGuard guard(lock_);
  this_thread();
}

ThreadRecord& Controller::this_thread() {
  if (this_thread_record == nullptr) {
    ThreadRecord& record = threads_.add();
    record.handle = pthread_self();
    record.kernel_id = kernel_id_of_caller();
    record.detached = true;  // nobody is known who could join it
    pthread_setspecific(exit_key, &record);
    this_thread_record = &record;
  }
  return *this_thread_record;
}

void Controller::point(Operation operation, const void* object) {
  FutexGuard guard(lock_);
  follow(*this_thread_record, scheduler_.point(operation, object));
}

void Controller::yield() {
  FutexGuard guard(lock_);
  follow(*this_thread_record, scheduler_.yield());
}

void Controller::sleep(std::int64_t nanoseconds) {
  FutexGuard guard(lock_);
  const Deadline deadline{CLOCK_MONOTONIC, clock_.now(CLOCK_MONOTONIC) + nanoseconds};
  wait(*this_thread_record, {.kind = WaitKind::sleep, .timed = true}, deadline);
}

std::int64_t Controller::read_clock(clockid_t clock) {
  FutexGuard guard(lock_);
  return clock_.read(clock);
}

void Controller::begin_initialisation(WaitKind kind, const void* object) {
  FutexGuard guard(lock_);
  ThreadRecord& self = *this_thread_record;
  follow(self, scheduler_.point(Operation::once, object));
  while (self.controlled) {
    const ThreadNumber holder = scheduler_.holder(kind, object);
    if (holder == nobody || holder == self.number) return scheduler_.acquired(kind, object);
    wait(self, {.kind = kind, .object = object}, std::nullopt);
  }
}

void Controller::released(WaitKind kind, const void* object) {
  if (!on_) return;
  FutexGuard guard(lock_);
  released_by_caller(kind, object);
  if (controls_caller()) {
    follow(*this_thread_record, scheduler_.point(Operation::unlock, object));
  }
}

void Controller::released_by_caller(WaitKind kind, const void* object) {
  if (!on_) return;
  const bool controlled = controls_caller();
  if (controlled) scheduler_.released(kind, object);
  scheduler_.wake_all(kind, object);
  if (!controlled) note_caller_outside();
}

void Controller::note_caller_outside() {
  resume_if_idle();
  ThreadRecord* self = this_thread_record;
  if (self == nullptr || self->seen_in == schedules_) return;
  self->seen_in = schedules_;
  ++seen_outside_;
}

std::uint32_t Controller::wake(WaitKind kind, const void* object, std::uint32_t count) {
  if (!on_) return 0;
  FutexGuard guard(lock_);
  if (!on_) return 0;
  const std::uint32_t woken = scheduler_.wake(kind, object, count);
  if (!controls_caller()) note_caller_outside();
  return woken;
}

int Controller::wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                   const OptionalDeadline& deadline) {
  if (has_ended) return control_ended;
  Woken woken;
  {
    FutexGuard guard(lock_);
    ThreadRecord& self = this_thread();
    // Here a signal may pass by, between the caller's test and its wait.
    if (self.controlled) follow(self, scheduler_.point(Operation::wait, condition));
    if (const int error = real().mutex_unlock(mutex); error != 0) return error;
    released_by_caller(WaitKind::mutex, mutex);
    if (!self.controlled) {
      woken = sleep_outside(self, condition, deadline);
    } else if (deadline && clock_.has_passed(*deadline)) {
      follow(self, scheduler_.point(Operation::wait, condition));
      woken = Woken::by_time_out;
    } else {
      woken = wait(
          self, {.kind = WaitKind::condition, .object = condition, .timed = deadline.has_value()},
          deadline);
    }
  }
  const int error = lock_again(mutex);
  if (error != 0) return error;
  return woken == Woken::by_time_out ? ETIMEDOUT : 0;
}

int Controller::lock_again(pthread_mutex_t* mutex) {
  int result = control_ended;
  if (controls_caller()) {
    FutexGuard guard(lock_);
    result = take_object(
        *this_thread_record, {.kind = WaitKind::mutex, .object = mutex}, std::nullopt,
        [mutex] { return real().mutex_trylock(mutex); }, false);
  }
  return result == control_ended ? real().mutex_lock(mutex) : result;
}

void Controller::signal(pthread_cond_t* condition, std::uint32_t count) {
  FutexGuard guard(lock_);
  ThreadRecord* self = this_thread_record;
  const bool controlled = controls_caller();
  if (controlled) follow(*self, scheduler_.point(Operation::signal, condition));
  if (on_) {
    scheduler_.signal(condition, count, controlled ? self->number : nobody);
    if (!controlled) note_caller_outside();
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    ThreadRecord* sleeper = threads_.first_asleep_on(condition);
    if (sleeper == nullptr) break;
    sleeper->sleeps_on = nullptr;
    sleeper->woken = Woken::released;
    sleeper->turn = go;
    futex_wake_all(sleeper->turn);
  }
}

int Controller::create(pthread_t* thread, const pthread_attr_t* attributes,
                       void* (*function)(void*), void* argument) {
  ThreadRecord* child;
  std::uint64_t birth;
  {
    FutexGuard guard(lock_);
    child = &threads_.add();
    birth = child->birth;
    child->function = function;
    child->argument = argument;
    int state = PTHREAD_CREATE_JOINABLE;
    if (attributes != nullptr) pthread_attr_getdetachstate(attributes, &state);
    child->detached = state == PTHREAD_CREATE_DETACHED;
    if (controls_caller()) take(*child, scheduler_.add_runnable());
  }
  const int error = real().create(thread, attributes, thread_main, child);
  FutexGuard guard(lock_);
  if (error != 0) {
    if (child->controlled) scheduler_.retract(child->number);
    threads_.remove(*child);
  } else if (child->birth == birth && child->kernel_id == 0) {
    child->handle = *thread;  // it has not started, and so cannot have done it itself
  }
  if (controls_caller()) follow(*this_thread_record, scheduler_.point(Operation::create, nullptr));
  return error;
}

void Controller::thread_starts(ThreadRecord& self) {
  FutexGuard guard(lock_);
  self.handle = pthread_self();
  self.kernel_id = kernel_id_of_caller();
  pthread_setspecific(exit_key, &self);
  this_thread_record = &self;
  if (self.controlled) park(self, nullptr);
  self.turn = parked;
}

void Controller::thread_ends(ThreadRecord& self) {
  ThreadRecord* next = nullptr;
  {
    FutexGuard guard(lock_);
    this_thread_record = nullptr;
    has_ended = true;
    self.finished = true;
    if (self.controlled) {
      self.controlled = false;
      ++progress_;
      next = whose_turn(scheduler_.finish());
    }
    changed_outside();
    if (self.detached) threads_.remove(self);
  }
  if (next != nullptr) futex_wake_all(next->turn);
}

int Controller::join(pthread_t thread, void** result) {
  ThreadRecord* self = nullptr;
  ThreadRecord* target = nullptr;
  {
    FutexGuard guard(lock_);
    target = threads_.find(thread);
    if (!has_ended) self = &this_thread();
    if (self != nullptr) await_end(*self, target);
  }
  const bool comes_back = on_ && self != nullptr && !self->controlled;
  const int error = real().join(thread, result);
  {
    FutexGuard guard(lock_);
    if (self != nullptr) self->joins = nullptr;
    if (error == 0 && target != nullptr) threads_.remove(*target);
    if (!comes_back || !on_ || !takes_part(*self)) return error;
  }
  enter();
  return error;
}

// Afterwards the real join is short, or the caller is outside control.
void Controller::await_end(ThreadRecord& self, const ThreadRecord* target) {
  if (self.controlled) follow(self, scheduler_.point(Operation::join, nullptr));
  while (self.controlled && target != &self && !(target != nullptr && target->finished)) {
    if (target != nullptr && target->controlled) {
      wait(self, {.kind = WaitKind::join, .joined = target->number}, std::nullopt);
    } else {
      step_out(self);
    }
  }
  if (self.controlled) return;
  self.joins = target;
  changed_outside();
}

int Controller::detach(pthread_t thread) {
  {
    FutexGuard guard(lock_);
    if (ThreadRecord* target = threads_.find(thread)) {
      target->detached = true;
      if (target->finished) threads_.remove(*target);
    }
  }
  return real().detach(thread);
}

void Controller::step_out(ThreadRecord& self) {
  self.controlled = false;
  note_caller_outside();
  ++progress_;
  if (ThreadRecord* next = whose_turn(scheduler_.leave())) futex_wake_all(next->turn);
}

void Controller::leave() {
  FutexGuard guard(lock_);
  if (controls_caller()) step_out(*this_thread_record);
}

void Controller::enter() {
  FutexGuard guard(lock_);
  if (!on_ || has_ended) return;
  ThreadRecord& self = this_thread();
  if (self.controlled) return;
  if (takes_part(self)) {
    scheduler_.come_back(self.number);
    self.controlled = true;
  } else {
    take(self, scheduler_.add_runnable());
  }
  if (scheduler_.running() == nobody) {
    follow(self, scheduler_.resume());
  } else {
    park(self, nullptr);
  }
}

// Of the threads, only the caller lives on; so it needs no control, and could not have it.
void Controller::after_fork_in_child() {
  on_ = false;
  has_watchdog_ = false;
  changes_awaited_ = false;
  if (this_thread_record != nullptr) {
    this_thread_record->controlled = false;
    this_thread_record->kernel_id = kernel_id_of_caller();
  }
  threads_.after_fork(this_thread_record);
  lock_.unlock();
}

}  // namespace gradcts::schedule

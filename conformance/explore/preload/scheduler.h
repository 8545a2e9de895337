// The state of a schedule: threads by number, what each waits for, what each holds. Pure logic over
// numbers and addresses; it starts no thread, takes no lock and calls no operating system, so that
// its tests need none of them. Not thread-safe: the controller guards it.
//
// Exactly one thread runs (running()), except when nobody can. The running thread calls one of the
// *steps* below; afterwards running() says who goes on.
#pragma once

#include <cstdint>

#include "conformance/explore/preload/strategy.h"

namespace gradcts::schedule {

// What a thread is about to do at a step.
enum class Operation : std::uint8_t {
  start,
  lock,
  try_lock,
  load,
  unlock,
  wait,
  signal,
  post,
  create,
  join,
  once,
  finish,
  yield,
  point,
  end
};

enum class WaitKind : std::uint8_t {
  nothing,
  mutex,
  rwlock,
  condition,
  semaphore,
  join,
  once,
  guard,
  futex,
  announced,
  sleep
};

struct Wait {
  WaitKind kind = WaitKind::nothing;
  const void* object = nullptr;
  bool timed = false;
  bool shared = false;           // of an rwlock: to read
  ThreadNumber joined = nobody;  // whose end a join waits for
  const void* relock = nullptr;  // of a condition: the mutex without which the wait cannot return
};

// Why a wait is over.
enum class Woken : std::uint8_t { released, by_time_out, by_itself };

// What a step ended with.
enum class Verdict : std::uint8_t {
  go_on,              // running() goes on
  nobody_can_run,     // a deadlock, unless a thread outside control can change something
  waits_in_a_circle,  // a deadlock, even though other threads could go on
  too_many_steps,
};

class Scheduler {
 public:
  enum class State : std::uint8_t {
    runnable,
    waiting,
    standing_back,  // runs when nothing else can
    away,           // has left control
    finished
  };

  struct Thread {
    State state = State::runnable;
    Wait wait;                               // of a waiting thread
    Woken woken = Woken::released;           // of one that has waited
    Operation operation = Operation::start;  // its last step
    const void* object = nullptr;            // and what that was about
    std::uint64_t since = 0;                 // the number of that step
    const void* wants = nullptr;  // the mutex that it takes next: see lock_point()

    // What its next step is about.
    const void* next_object() const { return wants != nullptr ? wants : object; }
  };

  // An object that a thread holds: a locked mutex, a static object that it initialises.
  struct Hold {
    WaitKind kind;
    const void* object;
    ThreadNumber thread;
    bool shared;  // a reader of an rwlock
    std::uint32_t depth;
    std::uint64_t since;
  };

  // The last signal of a condition, and whether anybody waited for it: what a lost wake-up looks
  // like.
  struct Signal {
    const void* condition;
    ThreadNumber thread;
    std::uint64_t step;
    bool heard;
  };

  // Forgets everything. Thread 0 exists and runs. The strategy must live until the next start.
  void start(Strategy& strategy, std::uint64_t step_bound);

  ThreadNumber add_runnable();
  ThreadNumber add_waiting(Wait wait);
  // A thread that could not be started after all.
  void retract(ThreadNumber thread) { at(thread).state = State::finished; }
  // A thread that had left is back.
  void come_back(ThreadNumber thread) { at(thread).state = State::runnable; }

  // Steps.
  Verdict point(Operation operation, const void* object);
  // Before a mutex is taken that is taken in no other way: while somebody has it, the thread is
  // waiting and not runnable, so that no step is spent on trying. After `go_on` and the thread's
  // turn the mutex is free.
  Verdict lock_point(const void* mutex);
  Verdict yield();
  Verdict wait(const Wait& wait);
  Verdict finish();
  Verdict leave();
  Verdict stand_back();
  // Nobody could run, and something was released from outside.
  Verdict resume();

  // Whoever waits for the object can go on (and tries again, where the object is a lock).
  void wake_all(WaitKind kind, const void* object);
  // Up to `count` of them, of the strategy's choice; returns how many.
  std::uint32_t wake(WaitKind kind, const void* object, std::uint32_t count);
  // Of a condition; remembers the signal for the report.
  void signal(const void* condition, std::uint32_t count, ThreadNumber by);

  void acquired(WaitKind kind, const void* object, bool shared = false);
  // One level; the hold ends with the last.
  void released(WaitKind kind, const void* object);
  // Null if the thread does not hold it.
  const Hold* hold_of(ThreadNumber thread, WaitKind kind, const void* object) const;
  // Some thread that holds it, or nobody.
  ThreadNumber holder(WaitKind kind, const void* object) const;

  ThreadNumber running() const { return running_; }
  bool anybody_can_run() const;
  const Thread& thread(ThreadNumber number) const {
    return threads_[static_cast<std::size_t>(number)];
  }
  ThreadNumber thread_count() const { return static_cast<ThreadNumber>(threads_.size()); }
  const PageVector<Hold>& all_holds() const { return holds_; }
  // Null if there was none.
  const Signal* last_signal(const void* condition) const;

  std::uint64_t steps() const { return steps_; }
  std::uint64_t switches() const { return switches_; }
  std::uint64_t hash() const { return hash_; }
  Trace& trace() { return trace_; }

 private:
  Thread& at(ThreadNumber number) { return threads_[static_cast<std::size_t>(number)]; }
  void arrive(Operation operation, const void* object);
  Verdict decide(ThreadNumber previous, ThreadNumber avoided);
  Threads who_can_run(ThreadNumber avoided);
  void go_on_with(ThreadNumber chosen, ThreadNumber previous);
  void end_wait_by_itself(ThreadNumber thread);
  void end_wait(Thread& thread, Woken how);
  void record(Choice choice);
  bool closes_a_circle(const Wait& wait) const;
  ThreadNumber who_ends(const Wait& wait) const;
  template <typename Predicate>
  Threads collect(Predicate wanted);

  Strategy* strategy_ = nullptr;
  std::uint64_t step_bound_ = 0;
  PageVector<Thread> threads_;
  PageVector<Hold> holds_;
  PageVector<Signal> signals_;
  PageVector<ThreadNumber> collected_;
  Trace trace_;
  ThreadNumber running_ = nobody;
  std::uint64_t steps_ = 0;
  std::uint64_t switches_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace gradcts::schedule

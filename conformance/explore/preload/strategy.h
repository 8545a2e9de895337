// Who goes on? A strategy answers nothing else; which threads can run is the scheduler's knowledge.
//
// Every answer is a function of the options and of the questions so far, so that equal programs
// under equal options take equal schedules.
#pragma once

#include <cstdint>
#include <span>

#include "conformance/explore/preload/random.h"
#include "conformance/explore/preload/trace.h"

namespace gradcts::schedule {

class Scheduler;

using Threads = std::span<const ThreadNumber>;  // in ascending order

class Strategy {
 public:
  virtual ~Strategy() = default;

  // A thread came under control.
  virtual void added(ThreadNumber) {}
  // The running thread says that it waits for others without naming them.
  virtual void yielded(ThreadNumber) {}

  // Asked before each step: one of `sleepers` whose wait shall end by itself now, or nobody.
  virtual ThreadNumber disturb(Threads sleepers) = 0;
  // Nothing can run: the one of `sleepers` whose time-out passes.
  virtual ThreadNumber time_out(Threads sleepers) = 0;
  // The one of `waiters` that a signal wakes.
  virtual ThreadNumber wake(Threads waiters) = 0;
  // The one of `runnable` that takes the step. `running` took the last one.
  virtual ThreadNumber next(std::uint64_t step, ThreadNumber running, Threads runnable) = 0;
};

// Any thread that can run, with equal chance. At most `disturb_limit` waits end by themselves.
class RandomWalk : public Strategy {
 public:
  RandomWalk(std::uint64_t seed, std::uint32_t disturb_per_mille,
             std::uint32_t disturb_limit = UINT32_MAX)
      : random_(seed), disturb_per_mille_(disturb_per_mille), disturb_limit_(disturb_limit) {}

  ThreadNumber disturb(Threads sleepers) override;
  ThreadNumber time_out(Threads sleepers) override { return any_of(sleepers); }
  ThreadNumber wake(Threads waiters) override { return any_of(waiters); }
  ThreadNumber next(std::uint64_t, ThreadNumber, Threads runnable) override {
    return any_of(runnable);
  }

 protected:
  ThreadNumber any_of(Threads threads) { return threads[random_.below(threads.size())]; }

  Random random_;

 private:
  std::uint32_t disturb_per_mille_;
  std::uint32_t disturb_limit_;
};

// Probabilistic concurrency testing: see Note [Priorities with change points].
class PriorityChanges : public RandomWalk {
 public:
  PriorityChanges(std::uint64_t seed, std::uint32_t disturb_per_mille, std::uint32_t depth,
                  std::uint64_t expected_steps, std::uint32_t disturb_limit = UINT32_MAX);

  void added(ThreadNumber thread) override;
  void yielded(ThreadNumber thread) override { fall_behind(thread); }
  ThreadNumber next(std::uint64_t step, ThreadNumber running, Threads runnable) override;

 private:
  void fall_behind(ThreadNumber thread);
  bool is_change_point(std::uint64_t step) const;
  void count_in_a_row(ThreadNumber chosen);

  PageVector<std::int64_t> priorities_;      // by thread; larger goes first
  PageVector<std::uint64_t> change_points_;  // steps
  std::int64_t lowest_ = 0;
  ThreadNumber last_ = nobody;
  std::uint64_t in_a_row_ = 0;
};

// Partial-order sampling: see Note [Priorities of operations]. It looks at what each thread is
// about to do, and so needs the scheduler that asks it.
class PartialOrderSampling : public RandomWalk {
 public:
  PartialOrderSampling(const Scheduler& scheduler, std::uint64_t seed,
                       std::uint32_t disturb_per_mille, std::uint32_t disturb_limit = UINT32_MAX)
      : RandomWalk(seed, disturb_per_mille, disturb_limit), scheduler_(scheduler) {}

  ThreadNumber next(std::uint64_t step, ThreadNumber running, Threads runnable) override;

 private:
  // The next operation of a thread, and its priority.
  struct Pending {
    std::uint64_t since = 0;  // the step at which the thread came to it
    const void* object = nullptr;
    bool reads = false;
    std::uint64_t priority = 0;
  };
  Pending& pending(ThreadNumber thread);
  void draw(Pending& pending) { pending.priority = random_.next(); }

  const Scheduler& scheduler_;
  PageVector<Pending> pending_;  // by thread
  Pending executed_;             // the last one that was let go on
  ThreadNumber last_ = nobody;
  std::uint64_t in_a_row_ = 0;
};

// The choices of an earlier schedule. Where they cannot be followed, and after their end: no switch
// that is not forced, and then to the lowest number. A thread that polls is no reason to go on for
// ever: after `patience` steps in a row the next thread in order goes on.
class Replay : public Strategy {
 public:
  explicit Replay(Trace trace) : trace_(std::move(trace)) { reader_.start(trace_); }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  ThreadNumber disturb(Threads sleepers) override;
  ThreadNumber time_out(Threads sleepers) override { return sleepers.front(); }
  ThreadNumber wake(Threads waiters) override;
  ThreadNumber next(std::uint64_t step, ThreadNumber running, Threads runnable) override;

  // The first step that could not be followed, 0 if there was none.
  std::uint64_t mismatch_step() const { return mismatch_step_; }

 private:
  ThreadNumber follow(Threads threads, bool by_itself);
  ThreadNumber stay(ThreadNumber running, Threads runnable);

  Trace trace_;
  TraceReader reader_;
  std::uint64_t in_a_row_ = 0;
  std::uint64_t step_ = 1;
  std::uint64_t mismatch_step_ = 0;
};

}  // namespace gradcts::schedule

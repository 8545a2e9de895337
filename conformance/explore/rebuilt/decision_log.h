// A strategy that asks another one and writes down what was decided, for a search over schedules.
#pragma once

#include <vector>

#include "conformance/explore/preload/schedule.h"
#include "conformance/explore/preload/scheduler.h"
#include "conformance/explore/preload/strategy.h"

namespace gradcts::schedule {

// What the threads have done so far, as a number: equal for executions that differ only in the
// order of what commutes. The sum of a number for each operation, which is made of the last one of
// its thread and of those on its object that it does not commute with.
class DoneSoFar {
 public:
  void clear() { sum_ = 0; }
  void add(std::uint64_t operation) { sum_ += scramble(operation); }
  std::uint64_t state() const { return scramble(sum_); }

 private:
  std::uint64_t sum_ = 0;
};

class DecisionLog : public Strategy {
 public:
  using ObjectName = std::uint64_t (*)(const void* object);

  DecisionLog(const Scheduler& scheduler, DoneSoFar& done, ObjectName name)
      : scheduler_(scheduler), done_(done), name_(name) {}

  void start(Strategy& asked);
  // From now on: no switch that is not forced, and nothing is written down.
  void settle() { settled_ = true; }

  void added(ThreadNumber thread) override;
  void yielded(ThreadNumber thread) override;
  ThreadNumber disturb(Threads sleepers) override;
  ThreadNumber time_out(Threads sleepers) override;
  ThreadNumber wake(Threads waiters) override;
  ThreadNumber next(std::uint64_t step, ThreadNumber running, Threads runnable) override;

  const std::vector<gradcts_schedule_decision>& decisions() const { return decisions_; }
  bool is_settled() const { return settled_; }

 private:
  ThreadNumber write_down(gradcts_schedule_decision_kind kind, Threads able, ThreadNumber chosen);

  const Scheduler& scheduler_;
  DoneSoFar& done_;
  const ObjectName name_;
  Strategy* asked_ = nullptr;
  Replay stay_{Trace()};
  std::vector<gradcts_schedule_decision> decisions_;
  std::uint64_t sleepers_ = 0;
  ThreadNumber yielded_ = nobody;
  bool settled_ = false;
};

}  // namespace gradcts::schedule

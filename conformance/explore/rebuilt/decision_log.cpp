#include "conformance/explore/rebuilt/decision_log.h"

namespace gradcts::schedule {
namespace {

// Threads as bits. Those from 64 on have none; a search refuses such schedules.
std::uint64_t bits(Threads threads) {
  std::uint64_t bits = 0;
  for (const ThreadNumber thread : threads) {
    if (thread < 64) bits |= std::uint64_t{1} << thread;
  }
  return bits;
}

bool contains(Threads threads, ThreadNumber thread) {
  for (const ThreadNumber each : threads) {
    if (each == thread) return true;
  }
  return false;
}

}  // namespace

void DecisionLog::start(Strategy& asked) {
  asked_ = &asked;
  decisions_.clear();
  sleepers_ = 0;
  yielded_ = nobody;
  settled_ = false;
}

void DecisionLog::added(ThreadNumber thread) {
  asked_->added(thread);
}

void DecisionLog::yielded(ThreadNumber thread) {
  yielded_ = thread;
  asked_->yielded(thread);
}

ThreadNumber DecisionLog::write_down(gradcts_schedule_decision_kind kind, Threads able,
                                     ThreadNumber chosen) {
  decisions_.push_back({.state = done_.state(),
                        .able = bits(able),
                        .sleepers = 0,
                        .object = 0,
                        .running = nobody,
                        .chosen = chosen,
                        .kind = kind});
  if (kind != GRADCTS_SCHEDULE_NEXT) {
    done_.add(scramble(static_cast<std::uint64_t>(chosen) + 1) ^ decisions_.back().state ^ kind);
  }
  return chosen;
}

ThreadNumber DecisionLog::disturb(Threads sleepers) {
  if (settled_) return nobody;
  const ThreadNumber chosen = asked_->disturb(sleepers);
  if (chosen != nobody) write_down(GRADCTS_SCHEDULE_BY_ITSELF, sleepers, chosen);
  sleepers_ = chosen == nobody ? bits(sleepers) : 0;
  return chosen;
}

ThreadNumber DecisionLog::time_out(Threads sleepers) {
  if (settled_) return stay_.time_out(sleepers);
  return write_down(GRADCTS_SCHEDULE_BY_ITSELF, sleepers, asked_->time_out(sleepers));
}

ThreadNumber DecisionLog::wake(Threads waiters) {
  if (settled_) return stay_.wake(waiters);
  return write_down(GRADCTS_SCHEDULE_WOKEN, waiters, asked_->wake(waiters));
}

ThreadNumber DecisionLog::next(std::uint64_t step, ThreadNumber running, Threads runnable) {
  if (settled_) return stay_.next(step, running, runnable);
  const ThreadNumber chosen =
      write_down(GRADCTS_SCHEDULE_NEXT, runnable, asked_->next(step, running, runnable));
  gradcts_schedule_decision& decision = decisions_.back();
  decision.sleepers = sleepers_;
  if (running != nobody && running != yielded_ && contains(runnable, running)) {
    decision.running = running;
    const void* object = scheduler_.thread(running).next_object();
    decision.object = object != nullptr ? name_(object) : 0;
  }
  yielded_ = nobody;
  return chosen;
}

}  // namespace gradcts::schedule

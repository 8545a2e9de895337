// Passing the token: the part of the controller in which threads are parked and woken.
#include <climits>

#include "conformance/explore/preload/controller.h"

namespace gradcts::schedule {

// `self` has taken a step. Returns when it has the token again, or when control has ended.
void Controller::follow(ThreadRecord& self, Verdict verdict) {
  ++progress_;
  if (verdict == Verdict::go_on && scheduler_.running() == self.number) return;
  park(self, whose_turn(verdict));
}

// Hands the token to the thread that the scheduler chose, and returns it for the caller to wake:
// after the lock is free, or the woken thread would run into it. Null while nobody can run.
ThreadRecord* Controller::whose_turn(Verdict verdict) {
  switch (verdict) {
    case Verdict::go_on: {
      ThreadRecord* next = by_number_[static_cast<std::size_t>(scheduler_.running())];
      next->turn = go;
      return next;
    }
    case Verdict::nobody_can_run:
      if (somebody_outside_may_act()) return nullptr;
      fail(GRADCTS_SCHEDULE_DEADLOCK);
    case Verdict::waits_in_a_circle:
      fail(GRADCTS_SCHEDULE_DEADLOCK);
    case Verdict::too_many_steps:
      fail(GRADCTS_SCHEDULE_STEP_BOUND);
  }
  return nullptr;
}

void Controller::park(ThreadRecord& self, ThreadRecord* next) {
  bool in_time = true;
  do {
    const OptionalDeadline deadline = self.controlled ? std::nullopt : self.deadline;
    lock_.unlock();
    if (next != nullptr) futex_wake_all(next->turn);
    next = nullptr;
    if (deadline) {
      in_time =
          futex_wait_until(self.turn, parked, deadline->clock, to_timespec(deadline->nanoseconds));
    } else {
      futex_wait(self.turn, parked);
    }
    lock_.lock();
  } while (!is_awake(self, in_time));
}

bool Controller::is_awake(ThreadRecord& self, bool in_time) {
  if (self.turn.exchange(parked) == go) return true;
  if (in_time || self.controlled || self.sleeps_on == nullptr) return false;
  self.sleeps_on = nullptr;
  self.woken = Woken::by_time_out;
  return true;
}

Woken Controller::wait(ThreadRecord& self, const Wait& wait, const OptionalDeadline& deadline) {
  self.deadline = deadline;
  follow(self, scheduler_.wait(wait));
  return how_woken(self);
}

// Oldest first, as long as control is off; see Note [Condition waits are the library's own].
Woken Controller::sleep_outside(ThreadRecord& self, const void* condition,
                                const OptionalDeadline& deadline) {
  self.deadline = deadline;
  self.sleeps_on = condition;
  self.ticket = ++tickets_;
  self.elsewhere = false;
  changed_outside();
  park(self, nullptr);
  return how_woken(self);
}

// A wait may begin outside control and end under it, and the other way round.
Woken Controller::how_woken(ThreadRecord& self) {
  const OptionalDeadline deadline = self.deadline;
  self.deadline.reset();
  if (!self.controlled) return self.woken;
  const Woken woken = scheduler_.thread(self.number).woken;
  if (woken == Woken::by_time_out && deadline) clock_.reach(*deadline);
  return woken;
}

// Something was released from outside control while no thread under control could run.
void Controller::resume_if_idle() {
  if (!on_ || scheduler_.running() != nobody || !scheduler_.anybody_can_run()) return;
  ++progress_;
  if (ThreadRecord* next = whose_turn(scheduler_.resume())) futex_wake_all(next->turn);
}

bool Controller::somebody_outside_may_act() const {
  for (const ThreadRecord* record : threads_.all()) {
    if (record->is_alive() && !record->controlled && !record->is_asleep()) return true;
  }
  return false;
}

// The caller has gone to sleep, or has ended, outside control.
void Controller::changed_outside() {
  if (changes_awaited_) {
    ++changes_;
    futex_wake_all(changes_);
  }
  const bool idle = on_ && scheduler_.running() == nobody;
  if (idle && !somebody_outside_may_act()) fail(GRADCTS_SCHEDULE_DEADLOCK);
}

}  // namespace gradcts::schedule

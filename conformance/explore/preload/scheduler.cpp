#include "conformance/explore/preload/scheduler.h"

#include <algorithm>

namespace gradcts::schedule {
namespace {

// Conditions and futexes may wake for no reason; a program that cannot bear it is wrong. Anything
// else that is untimed ends only when it is released.
bool may_end_by_itself(const Wait& wait) {
  return wait.timed || wait.kind == WaitKind::condition || wait.kind == WaitKind::futex;
}

}  // namespace

void Scheduler::start(Strategy& strategy, std::uint64_t step_bound) {
  strategy_ = &strategy;
  step_bound_ = step_bound;
  threads_.clear();
  holds_.clear();
  signals_.clear();
  trace_.clear();
  steps_ = switches_ = 0;
  hash_ = scramble(1);
  running_ = add_runnable();
}

ThreadNumber Scheduler::add_runnable() {
  threads_.emplace_back();
  strategy_->added(thread_count() - 1);
  return thread_count() - 1;
}

ThreadNumber Scheduler::add_waiting(Wait wait) {
  const ThreadNumber number = add_runnable();
  at(number).state = State::waiting;
  at(number).wait = wait;
  at(number).operation = Operation::wait;
  return number;
}

void Scheduler::arrive(Operation operation, const void* object) {
  Thread& self = at(running_);
  self.operation = operation;
  self.object = object;
  self.since = steps_ + 1;
  hash_ = scramble(hash_ ^ static_cast<std::uint64_t>(operation));
}

Verdict Scheduler::point(Operation operation, const void* object) {
  arrive(operation, object);
  return decide(running_, nobody);
}

Verdict Scheduler::lock_point(const void* mutex) {
  arrive(Operation::lock, mutex);
  at(running_).wants = mutex;
  if (holder(WaitKind::mutex, mutex) == nobody) return decide(running_, nobody);
  at(running_).state = State::waiting;
  at(running_).wait = {.kind = WaitKind::mutex, .object = mutex};
  if (closes_a_circle(at(running_).wait)) return Verdict::waits_in_a_circle;
  return decide(running_, nobody);
}

Verdict Scheduler::yield() {
  arrive(Operation::yield, nullptr);
  strategy_->yielded(running_);
  return decide(running_, running_);
}

Verdict Scheduler::wait(const Wait& wait) {
  arrive(Operation::wait, wait.object);
  at(running_).state = State::waiting;
  at(running_).wait = wait;
  if (closes_a_circle(wait)) return Verdict::waits_in_a_circle;
  return decide(running_, nobody);
}

Verdict Scheduler::finish() {
  arrive(Operation::finish, nullptr);
  at(running_).state = State::finished;
  for (Thread& thread : threads_) {
    if (thread.state == State::waiting && thread.wait.joined == running_) {
      thread.state = State::runnable;
      thread.woken = Woken::released;
    }
  }
  return decide(running_, nobody);
}

Verdict Scheduler::leave() {
  arrive(Operation::point, nullptr);
  at(running_).state = State::away;
  return decide(running_, nobody);
}

Verdict Scheduler::stand_back() {
  arrive(Operation::end, nullptr);
  at(running_).state = State::standing_back;
  return decide(running_, nobody);
}

Verdict Scheduler::resume() {
  return decide(nobody, nobody);
}

bool Scheduler::anybody_can_run() const {
  return std::ranges::find(threads_, State::runnable, &Thread::state) != threads_.end();
}

template <typename Predicate>
Threads Scheduler::collect(Predicate wanted) {
  collected_.clear();
  for (ThreadNumber number = 0; number < thread_count(); ++number) {
    if (wanted(at(number), number)) collected_.push_back(number);
  }
  return Threads(collected_.data(), collected_.size());
}

// `previous` ran so far; `avoided` goes on only if no other can.
Verdict Scheduler::decide(ThreadNumber previous, ThreadNumber avoided) {
  if (++steps_ > step_bound_) return Verdict::too_many_steps;
  end_wait_by_itself(strategy_->disturb(collect([](const Thread& t, ThreadNumber) {
    return t.state == State::waiting && may_end_by_itself(t.wait);
  })));
  const Threads able = who_can_run(avoided);
  if (able.empty()) {
    running_ = nobody;
    return Verdict::nobody_can_run;
  }
  go_on_with(strategy_->next(steps_, previous, able), previous);
  return Verdict::go_on;
}

// Time passes only when nothing else can happen: then a time-out makes its thread runnable.
Threads Scheduler::who_can_run(ThreadNumber avoided) {
  const auto in = [this](State state, ThreadNumber left_out = nobody) {
    return collect([state, left_out](const Thread& t, ThreadNumber number) {
      return t.state == state && number != left_out;
    });
  };
  if (const Threads others = in(State::runnable, avoided); !others.empty()) return others;
  if (const Threads all = in(State::runnable); !all.empty()) return all;
  if (const Threads last = in(State::standing_back); !last.empty()) return last;
  for (;;) {  // who times out may find its mutex taken
    const Threads timed = collect(
        [](const Thread& t, ThreadNumber) { return t.state == State::waiting && t.wait.timed; });
    if (timed.empty()) return timed;
    end_wait_by_itself(strategy_->time_out(timed));
    if (const Threads able = in(State::runnable); !able.empty()) return able;
  }
}

void Scheduler::go_on_with(ThreadNumber chosen, ThreadNumber previous) {
  record({chosen, false});
  if (chosen != previous) ++switches_;
  running_ = chosen;
  at(chosen).state = State::runnable;
}

void Scheduler::end_wait_by_itself(ThreadNumber number) {
  if (number == nobody) return;
  record({number, true});
  end_wait(at(number), at(number).wait.timed ? Woken::by_time_out : Woken::by_itself);
}

// A wait for a condition with `relock` goes over into one for its mutex, and stays woken as it was.
void Scheduler::end_wait(Thread& thread, Woken how) {
  if (thread.wants == nullptr) thread.woken = how;
  thread.state = State::runnable;
  if (thread.wait.relock == nullptr) return;
  thread.wants = thread.wait.relock;
  thread.wait = {.kind = WaitKind::mutex, .object = thread.wants};
  if (holder(WaitKind::mutex, thread.wants) != nobody) thread.state = State::waiting;
}

void Scheduler::record(Choice choice) {
  trace_.append(choice);
  hash_ = scramble(hash_ ^ (static_cast<std::uint64_t>(choice.thread) << 8 | choice.by_itself));
}

void Scheduler::wake_all(WaitKind kind, const void* object) {
  for (Thread& thread : threads_) {
    if (thread.state == State::waiting && thread.wait.kind == kind &&
        thread.wait.object == object) {
      end_wait(thread, Woken::released);
    }
  }
}

std::uint32_t Scheduler::wake(WaitKind kind, const void* object, std::uint32_t count) {
  for (std::uint32_t woken = 0; woken < count; ++woken) {
    const Threads waiters = collect([&](const Thread& t, ThreadNumber) {
      return t.state == State::waiting && t.wait.kind == kind && t.wait.object == object;
    });
    if (waiters.empty()) return woken;
    ThreadNumber chosen = waiters.front();
    if (waiters.size() > 1) {
      chosen = strategy_->wake(waiters);
      record({chosen, false});
    }
    end_wait(at(chosen), Woken::released);
  }
  return count;
}

void Scheduler::signal(const void* condition, std::uint32_t count, ThreadNumber by) {
  const bool heard = wake(WaitKind::condition, condition, count) > 0;
  const Signal signal{condition, by, steps_, heard};
  const auto known = std::ranges::find(signals_, condition, &Signal::condition);
  if (known != signals_.end()) {
    *known = signal;
  } else {
    signals_.push_back(signal);
  }
}

const Scheduler::Signal* Scheduler::last_signal(const void* condition) const {
  const auto known = std::ranges::find(signals_, condition, &Signal::condition);
  return known == signals_.end() ? nullptr : &*known;
}

void Scheduler::acquired(WaitKind kind, const void* object, bool shared) {
  if (const Hold* hold = hold_of(running_, kind, object)) {
    ++holds_[static_cast<std::size_t>(hold - holds_.data())].depth;
  } else {
    holds_.push_back({kind, object, running_, shared, 1, steps_});
  }
  at(running_).wants = nullptr;
  for (Thread& thread : threads_) {
    if (thread.wants != object || thread.state != State::runnable) continue;
    thread.state = State::waiting;
    thread.wait = {.kind = WaitKind::mutex, .object = object};
  }
}

void Scheduler::released(WaitKind kind, const void* object) {
  const Hold* found = hold_of(running_, kind, object);
  if (found == nullptr) return;
  Hold& hold = holds_[static_cast<std::size_t>(found - holds_.data())];
  if (--hold.depth > 0) return;
  hold = holds_.back();
  holds_.pop_back();
}

const Scheduler::Hold* Scheduler::hold_of(ThreadNumber thread, WaitKind kind,
                                          const void* object) const {
  for (const Hold& hold : holds_) {
    if (hold.kind == kind && hold.object == object && hold.thread == thread) return &hold;
  }
  return nullptr;
}

ThreadNumber Scheduler::holder(WaitKind kind, const void* object) const {
  for (const Hold& hold : holds_) {
    if (hold.kind == kind && hold.object == object) return hold.thread;
  }
  return nobody;
}

// The one thread without which the wait cannot end, if there is one.
ThreadNumber Scheduler::who_ends(const Wait& wait) const {
  if (wait.timed) return nobody;
  if (wait.kind == WaitKind::join) return wait.joined;
  for (const Hold& hold : holds_) {
    if (hold.kind == wait.kind && hold.object == wait.object && !hold.shared) return hold.thread;
  }
  return nobody;
}

// True if the wait of the running thread can end only after the running thread has gone on.
bool Scheduler::closes_a_circle(const Wait& wait) const {
  ThreadNumber blocker = who_ends(wait);
  for (ThreadNumber i = 0; i < thread_count() && blocker != nobody; ++i) {
    if (blocker == running_) return true;
    if (thread(blocker).state != State::waiting) return false;
    blocker = who_ends(thread(blocker).wait);
  }
  return false;
}

}  // namespace gradcts::schedule

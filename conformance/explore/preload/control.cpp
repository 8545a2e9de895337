// Beginning and ending control, and the report when it cannot end.
#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "conformance/explore/preload/controller.h"
#include "conformance/explore/preload/real_calls.h"
#include "conformance/explore/preload/report.h"
#include "conformance/explore/preload/stacks.h"
#include "conformance/explore/preload/symbols.h"

// Note [Threads under control and outside]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// When control begins, a process has threads already. Where each of them stands is known only if it
// sleeps in a wait that this library made. Those are taken under control: nothing of theirs runs
// until a signal wakes them, which is a step of the schedule. A pool that has done its work sleeps
// in this way, so begin() waits until every known thread does, but not for ever: a thread that is
// busy, or that waits in a way which the library does not see, stays outside until the end of the
// schedule.
//
// Threads outside run whenever the system lets them, so a schedule in which they act is sound but
// may differ the next time; the result says how many there were. Sound, because the real objects
// stay in charge: a thread under control takes a mutex, an rwlock or a semaphore by the real try
// function, and the scheduler only records who has it, so that exclusion holds between the two
// kinds of threads and survives the end of control. And whatever a thread outside releases or
// signals is told to the scheduler as well.
//
// Note [Condition waits are the library's own]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// A condition has no try function: a thread in the real wait could not be taken under control, nor
// one of the scheduler be handed back to a real wait without a moment in which a signal is lost.
// So, from the start of the process, a condition wait is an entry in the library's own queue, and a
// signal looks there first. Beginning and ending control then only changes who decides when a
// sleeper goes on, and costs nothing for each of them. Conditions shared between processes stay
// real, and every signal also goes to the real condition: a wake-up too many is always allowed.
namespace gradcts::schedule {
namespace {

constexpr std::int64_t patience_at_begin = nanoseconds_per_second;
constexpr std::int64_t watch_every_ms = 100;

std::int64_t real_now(clockid_t clock) {
  timespec time;
  real().clock_gettime(clock, &time);
  return to_nanoseconds(time);
}

}  // namespace

int Controller::begin(const gradcts_schedule_options& options) {
  FutexGuard guard(lock_);
  if (on_) return EBUSY;
  if (!strategy_.choose(options, scheduler_)) return EINVAL;
  prepare_stacks();
  start_watchdog();
  ThreadRecord& self = this_thread();
  wait_until_others_sleep(self);
  ++schedules_;
  ++progress_;
  seen_outside_ = 0;
  clock_.start(real_now(CLOCK_REALTIME), real_now(CLOCK_MONOTONIC));
  scheduler_.start(strategy_.get(), strategy_.options().step_bound);
  by_number_.clear();
  take(self, 0);
  take_sleepers();
  on_ = true;
  return 0;
}

void Controller::wait_until_others_sleep(const ThreadRecord& self) {
  const timespec deadline = to_timespec(real_now(CLOCK_MONOTONIC) + patience_at_begin);
  bool in_time = true;
  changes_awaited_ = true;
  while (!others_sleep(self, !in_time)) {
    const std::uint32_t seen = changes_;
    lock_.unlock();
    in_time = futex_wait_until(changes_, seen, CLOCK_MONOTONIC, deadline);
    lock_.lock();
  }
  changes_awaited_ = false;
}

// With `give_up`, those that do not are not waited for again until they have slept once.
bool Controller::others_sleep(const ThreadRecord& self, bool give_up) {
  bool all = true;
  for (ThreadRecord* record : threads_.all()) {
    if (record == &self || !record->is_alive() || record->is_asleep()) continue;
    record->elsewhere |= give_up;
    all &= record->elsewhere;
  }
  return all;
}

void Controller::take(ThreadRecord& record, ThreadNumber number) {
  record.number = number;
  record.controlled = true;
  by_number_.push_back(&record);
}

void Controller::take_sleepers() {
  sleepers_.clear();
  for (ThreadRecord* record : threads_.all()) {
    if (record->is_alive() && record->sleeps_on != nullptr) sleepers_.push_back(record);
  }
  std::ranges::sort(sleepers_, {}, &ThreadRecord::birth);
  for (ThreadRecord* sleeper : sleepers_) {
    const bool timed = sleeper->deadline.has_value();
    take(*sleeper,
         scheduler_.add_waiting(
             {.kind = WaitKind::condition, .object = sleeper->sleeps_on, .timed = timed}));
    sleeper->sleeps_on = nullptr;
  }
}

// In this schedule; also if it has left for a while.
bool Controller::takes_part(const ThreadRecord& record) const {
  const auto index = static_cast<std::size_t>(record.number);
  return record.number != nobody && index < by_number_.size() && by_number_[index] == &record;
}

int Controller::end(gradcts_schedule_result& out) {
  FutexGuard guard(lock_);
  if (!controls_caller()) return EPERM;
  follow(*this_thread_record, scheduler_.stand_back());
  out = result(GRADCTS_SCHEDULE_COMPLETED);
  on_ = false;
  for (ThreadRecord* record : by_number_) {
    if (record->controlled) let_go(*record);
  }
  return 0;
}

// A sleeper stays in the queue. Any other wait is over, and its call goes on with the real
// function.
void Controller::let_go(ThreadRecord& record) {
  record.controlled = false;
  if (&record == this_thread_record) return;
  const Scheduler::Thread& thread = scheduler_.thread(record.number);
  const bool sleeps =
      thread.state == Scheduler::State::waiting && thread.wait.kind == WaitKind::condition;
  if (!sleeps) {
    record.woken = thread.woken;
    record.turn = go;
    futex_wake_all(record.turn);
    return;
  }
  record.sleeps_on = thread.wait.object;
  record.ticket = ++tickets_;
  if (!record.deadline) return;
  // What was left of the schedule's time is left of the real one.
  const clockid_t clock = record.deadline->clock;
  record.deadline->nanoseconds += real_now(clock) - clock_.now(clock);
  record.turn = look_again;
  futex_wake_all(record.turn);
}

gradcts_schedule_result Controller::result(gradcts_schedule_outcome outcome) {
  gradcts_schedule_result result = {};
  result.outcome = outcome;
  result.threads = static_cast<std::uint32_t>(scheduler_.thread_count());
  result.threads_outside = seen_outside_;
  result.steps = scheduler_.steps();
  result.switches = scheduler_.switches();
  result.hash = scheduler_.hash();
  result.mismatch_step = strategy_.mismatch_step();
  result.schedule = scheduler_.trace().text();
  return result;
}

// Other threads are parked, or run into the lock. It is free again for on_report, which may do
// anything that does not need one of them.
void Controller::fail(gradcts_schedule_outcome outcome) {
  on_ = false;
  if (this_thread_record != nullptr) this_thread_record->controlled = false;
  const std::string text = report(outcome);
  gradcts_schedule_result out = result(outcome);
  out.report = text.c_str();
  const gradcts_schedule_options options = strategy_.options();
  lock_.unlock();
  write_report(text);
  if (options.on_report != nullptr) options.on_report(&out, options.context);
  _exit(static_cast<int>(outcome));
}

std::string Controller::report(gradcts_schedule_outcome outcome) {
  std::vector<ThreadReport> reports;
  const auto add = [&](ThreadNumber number, pid_t id) {
    if (id == 0) return reports.push_back({number, "not started yet", {}});
    reports.push_back({number, system_name_of(id), stack_of(id)});
  };
  for (ThreadNumber number = 0; number < scheduler_.thread_count(); ++number) {
    if (scheduler_.thread(number).state == Scheduler::State::finished) continue;
    add(number, by_number_[static_cast<std::size_t>(number)]->kernel_id);
  }
  for (const ThreadRecord* record : threads_.all()) {
    if (record->is_alive() && !takes_part(*record)) add(nobody, record->kernel_id);
  }
  return describe(outcome, strategy_.in_words(), scheduler_, reports, object_name,
                  "Not seen: atomics, and waits by other means than the pthread calls, semaphores "
                  "and futex\ncalls through the C library.\n");
}

void Controller::start_watchdog() {
  if (has_watchdog_) return;
  has_watchdog_ = true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const auto body = [](void*) -> void* { controller().watch(); };
  if (real().create(&thread, nullptr, body, nullptr) == 0) real().detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Controller::watch() {
  std::uint64_t seen = 0;
  std::uint64_t still_for_ms = 0;
  const timespec nap = to_timespec(watch_every_ms * 1'000'000);
  for (;;) {
    real().nanosleep(&nap, nullptr);
    FutexGuard guard(lock_);
    still_for_ms = on_ && progress_ == seen ? still_for_ms + watch_every_ms : 0;
    seen = progress_;
    if (still_for_ms >= strategy_.options().watchdog_ms && on_) fail(GRADCTS_SCHEDULE_STALL);
  }
}

}  // namespace gradcts::schedule

#include "conformance/explore/preload/scheduler.h"
#include "conformance/explore/preload/strategy.h"

namespace gradcts::schedule {

// Note [Priorities of operations]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// A random walk takes the orders of what commutes as often as it counts them: two threads that
// never meet have very many schedules and one meaning. Here each operation, and not each thread,
// draws a priority when its thread comes to it, and the highest one is executed. Where operations
// commute, their priorities decide nothing; where they meet on an object, the losers draw again, so
// that each race is decided by a draw of its own (Yuan, Yang, Gu: "Partial Order Aware Concurrency
// Sampling", 2018). As with threads' priorities, a thread that polls would poll for ever: after
// `patience` steps in a row it goes last once.
namespace {
constexpr std::uint64_t patience = 2000;
}  // namespace

PartialOrderSampling::Pending& PartialOrderSampling::pending(ThreadNumber number) {
  const auto index = static_cast<std::size_t>(number);
  if (pending_.size() <= index) pending_.resize(index + 1);
  const Scheduler::Thread& thread = scheduler_.thread(number);
  Pending& pending = pending_[index];
  const void* object = thread.next_object();
  const bool is_new = pending.since != thread.since || pending.object != object;
  pending.since = thread.since;
  pending.object = object;
  pending.reads = thread.operation == Operation::load;
  const bool races = executed_.object != nullptr && executed_.object == object &&
                     !(executed_.reads && pending.reads);
  if (is_new || races || pending.priority == 0) draw(pending);
  return pending;
}

ThreadNumber PartialOrderSampling::next(std::uint64_t, ThreadNumber running, Threads runnable) {
  const bool goes_last = running == last_ && in_a_row_ >= patience && runnable.size() > 1;
  ThreadNumber chosen = nobody;
  std::uint64_t highest = 0;
  for (const ThreadNumber thread : runnable) {
    const std::uint64_t priority = pending(thread).priority;
    if ((goes_last && thread == running) || (chosen != nobody && priority < highest)) continue;
    highest = priority;
    chosen = thread;
  }
  executed_ = pending_[static_cast<std::size_t>(chosen)];
  in_a_row_ = chosen == last_ ? in_a_row_ + 1 : 0;
  last_ = chosen;
  return chosen;
}

}  // namespace gradcts::schedule

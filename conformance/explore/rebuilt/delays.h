// Delays in the operations of a rebuilt engine whose schedule nobody controls.
//
// Note [Fault points]
// ~~~~~~~~~~~~~~~~~~~
// Races and lost wake-ups that were reported in engines nearly all need one thread to stand still at one of a few
// points: before or after a task is pushed, between the count of outstanding tasks and what is done when it is zero,
// between winning completion and finishing it, where a thread begins, before and after it is counted, at the last
// release of a task, where a thread ends. Each of these is next to an operation of sync/. So the engine has no
// points of its own for this: in place of steps of a schedule, its operations are places where a thread now and then
// stands still. Unlike under control, threads do run at the same time, and sanitizers see them.
#pragma once

#include <atomic>

namespace gradcts::schedule {

// GRADCTS_DELAYS in the environment, a number, asks for delays: it is the seed. Read once.
bool delays_are_asked_for();

void stand_still_by_chance();

// Before and after each operation of a thread that is not under control. Chance is a thread's own: it depends on the
// seed and on how many threads came before.
inline void delay() {
  static const bool asked_for = delays_are_asked_for();
  if (asked_for) stand_still_by_chance();
}

// A reference count, or another number by which nothing is decided: no steps of a schedule, and a delay only where it
// becomes zero, which is the last release of something.
template <typename T>
class DelayedCount : public std::atomic<T> {
 public:
  using std::atomic<T>::atomic;
  using std::atomic<T>::operator=;

  T fetch_sub(T by, std::memory_order order = std::memory_order_seq_cst) {
    const T before = std::atomic<T>::fetch_sub(by, order);
    if (before == by) delay();
    return before;
  }
};

}  // namespace gradcts::schedule

// Stands in for the kit's own header of this name: what a scenario's threads do with each other is
// part of the schedule.
#pragma once

#include <chrono>
#include <mutex>

#include "conformance/explore/rebuilt/synchronisation.h"

namespace gradcts::kit {

using Mutex = schedule::ScheduledMutex;
using Thread = schedule::ScheduledThread;

class ConditionVariable {
 public:
  template <typename Predicate>
  void wait(std::unique_lock<Mutex>& lock, Predicate ready) {
    while (!ready()) condition_.wait(*lock.mutex());
  }
  template <typename Predicate>
  bool wait_for(std::unique_lock<Mutex>& lock, std::chrono::milliseconds patience,
                Predicate ready) {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!ready()) {
      if (!condition_.wait_until(*lock.mutex(), deadline)) return ready();
    }
    return true;
  }
  void notify_all() { condition_.notify_all(); }

 private:
  schedule::ScheduledCondition condition_;
};

}  // namespace gradcts::kit

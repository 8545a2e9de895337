// Stands in for the engine's own header of this name: each operation is a step of the schedule.
#pragma once

#include "conformance/explore/rebuilt/synchronisation.h"
#include "reference_engine/sync/annotations.h"

namespace gradcts::reference {

class GRADCTS_CAPABILITY("mutex") Mutex {
 public:
  void lock() GRADCTS_ACQUIRE() { mutex_.lock(); }
  void unlock() GRADCTS_RELEASE() { mutex_.unlock(); }
  bool try_lock() GRADCTS_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class ConditionVariable;
  schedule::ScheduledMutex mutex_;
};

class GRADCTS_SCOPED_CAPABILITY LockGuard {
 public:
  explicit LockGuard(Mutex& mutex) GRADCTS_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~LockGuard() GRADCTS_RELEASE() { mutex_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Mutex& mutex_;
};

class ConditionVariable {
 public:
  using Deadline = schedule::ScheduledCondition::Deadline;

  void wait(Mutex& mutex) GRADCTS_REQUIRES(mutex) { condition_.wait(mutex.mutex_); }
  bool wait_until(Mutex& mutex, Deadline deadline) GRADCTS_REQUIRES(mutex) {
    return condition_.wait_until(mutex.mutex_, deadline);
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  schedule::ScheduledCondition condition_;
};

}  // namespace gradcts::reference

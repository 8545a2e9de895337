// Counts threads that run, and waits for them with a limit.
#pragma once

#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {

class ThreadCounter {
 public:
  void add() {
    LockGuard lock(mutex_);
    ++count_;
  }
  void remove() {
    LockGuard lock(mutex_);
    --count_;
    changed_.notify_all();
  }
  int count() const {
    LockGuard lock(mutex_);
    return count_;
  }

  // Until none runs, or the deadline has passed.
  void wait_for_none(ConditionVariable::Deadline deadline) {
    LockGuard lock(mutex_);
    while (count_ != 0 && changed_.wait_until(mutex_, deadline)) {
    }
  }

 private:
  mutable Mutex mutex_;
  ConditionVariable changed_;
  int count_ GRADCTS_GUARDED_BY(mutex_) = 0;
};

}  // namespace gradcts::reference

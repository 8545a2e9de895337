// The engine's locks. Everything concurrent in the engine goes through sync/, so that the same
// source can be built over a back end that decides every switch between threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "reference_engine/sync/annotations.h"

namespace gradcts::reference {

class GRADCTS_CAPABILITY("mutex") Mutex {
 public:
  void lock() GRADCTS_ACQUIRE() { mutex_.lock(); }
  void unlock() GRADCTS_RELEASE() { mutex_.unlock(); }
  bool try_lock() GRADCTS_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

 private:
  friend class ConditionVariable;
  std::mutex mutex_;
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

// Waits are for a predicate, written as a loop by the caller so that the analysis sees the lock:
//   while (!ready_) changed_.wait(mutex_);
class ConditionVariable {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  void wait(Mutex& mutex) GRADCTS_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    variable_.wait(lock);
    lock.release();
  }

  // False once the deadline has passed.
  bool wait_until(Mutex& mutex, Deadline deadline) GRADCTS_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = variable_.wait_until(lock, deadline);
    lock.release();
    return status == std::cv_status::no_timeout;
  }

  void notify_one() { variable_.notify_one(); }
  void notify_all() { variable_.notify_all(); }

 private:
  std::condition_variable variable_;
};

}  // namespace gradcts::reference

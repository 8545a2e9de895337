// Counting what the engine must let go of: scripted nodes, hooks and callbacks (LIFE-1).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace gradcts::kit {

// How many of something there are. Thread-safe.
class LifeCounter {
 public:
  void add() {
    std::lock_guard lock(mutex_);
    ++count_;
  }
  void subtract() {
    std::lock_guard lock(mutex_);
    if (--count_ == 0) none_.notify_all();
  }

  // Waits until there are none, or the patience is over; returns how many there are. An engine's
  // threads let go a moment after the caller has returned, so that a first look may come too early.
  std::int64_t wait_for_none(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    none_.wait_for(lock, patience, [this] { return count_ == 0; });
    return count_;
  }
  void wait_for_none() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::int64_t count_ = 0;
};

// Counts for as long as it lives. The counter must outlive it.
class LifeToken {
 public:
  explicit LifeToken(LifeCounter& counter) : counter_(counter) { counter_.add(); }
  ~LifeToken() { counter_.subtract(); }
  LifeToken(const LifeToken&) = delete;
  LifeToken& operator=(const LifeToken&) = delete;

 private:
  LifeCounter& counter_;
};

}  // namespace gradcts::kit

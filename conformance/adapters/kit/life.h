// Counting what the engine must let go of: scripted nodes, hooks and callbacks (LIFE-1).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "conformance/adapters/kit/concurrency.h"
#include "conformance/adapters/kit/sync.h"

namespace gradcts::kit {

// How many of something there are. Thread-safe. It must outlive what it counts.
class LifeCounter {
 public:
  void add() { count_.fetch_add(1, std::memory_order_relaxed); }
  void subtract() {
    if (count_.fetch_sub(1) > 1) return;
    std::lock_guard lock(mutex_);  // whoever waits has seen the old count and sleeps, or will look
    none_.notify_all();
  }

  std::int64_t count() const { return count_; }

  // Waits until there are none, or the patience is over, or for a while nobody runs who could let
  // go; returns how many there are. An engine's threads let go a moment after the caller has
  // returned, so that a first look may come too early.
  std::int64_t wait_for_none(std::chrono::milliseconds patience) {
    constexpr std::chrono::milliseconds between_looks(100);
    constexpr int looks = 3;
    int asleep = 0;
    std::unique_lock lock(mutex_);
    while (patience.count() > 0 && asleep < looks) {
      if (none_.wait_for(lock, between_looks, [this] { return count_ == 0; })) return 0;
      patience -= between_looks;
      asleep = all_others_sleep() ? asleep + 1 : 0;
    }
    return count_;
  }
  void wait_for_none() {
    std::unique_lock lock(mutex_);
    none_.wait(lock, [this] { return count_ == 0; });
  }

 private:
  std::atomic<std::int64_t> count_{0};
  Mutex mutex_;
  ConditionVariable none_;
};

// Counts for as long as it lives.
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

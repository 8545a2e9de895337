// Mutex, condition, atomic and thread whose operations are steps of the schedule. Under control they
// ask the scheduler; outside they are the standard ones.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "conformance/explore/rebuilt/meeting_point.h"

namespace gradcts::schedule {

class ScheduledMutex {
 public:
  // The real one is taken too, for threads outside control; under control it is free by then.
  void lock() {
    if (is_controlled()) schedule::lock(point_);
    real_.lock();
  }
  void unlock() {
    real_.unlock();
    if (is_controlled()) schedule::unlock(point_);
  }
  bool try_lock() {
    if (is_controlled() && !schedule::try_lock(point_)) return false;
    return real_.try_lock();
  }

 private:
  friend class ScheduledCondition;
  MeetingPoint point_;
  std::mutex real_;
};

class ScheduledCondition {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  void wait(ScheduledMutex& mutex) {
    if (is_controlled()) {
      wait_under_control(mutex, false);
    } else {
      real_wait(mutex, [this](auto& lock) { real_.wait(lock); });
    }
  }

  // False once the deadline has passed. Under control, time passes when the schedule says so.
  bool wait_until(ScheduledMutex& mutex, Deadline deadline) {
    if (is_controlled()) return wait_under_control(mutex, true);
    std::cv_status status{};
    real_wait(mutex, [&](auto& lock) { status = real_.wait_until(lock, deadline); });
    return status == std::cv_status::no_timeout;
  }

  void notify_one() {
    if (is_controlled()) schedule::notify(point_, false);
    real_.notify_one();
  }
  void notify_all() {
    if (is_controlled()) schedule::notify(point_, true);
    real_.notify_all();
  }

 private:
  bool wait_under_control(ScheduledMutex& mutex, bool timed) {
    mutex.real_.unlock();
    const bool in_time = schedule::wait(point_, mutex.point_, timed);
    mutex.real_.lock();
    return in_time;
  }

  template <typename Wait>
  void real_wait(ScheduledMutex& mutex, Wait wait) {
    std::unique_lock<std::mutex> lock(mutex.real_, std::adopt_lock);
    wait(lock);
    lock.release();
  }

  MeetingPoint point_;
  std::condition_variable real_;
};

// One thread runs at a time and sees what the others wrote: orders weaker than the strongest are not
// explored.
template <typename T>
class ScheduledAtomic {
 public:
  ScheduledAtomic() = default;
  ScheduledAtomic(T value) : value_(value) {}

  T load(std::memory_order = std::memory_order_seq_cst) const { return at(Access::read).load(); }
  void store(T value, std::memory_order = std::memory_order_seq_cst) {
    at(Access::write).store(value);
  }
  T exchange(T value, std::memory_order = std::memory_order_seq_cst) {
    return at(Access::write).exchange(value);
  }
  bool compare_exchange_strong(T& expected, T value,
                               std::memory_order = std::memory_order_seq_cst) {
    return at(Access::write).compare_exchange_strong(expected, value);
  }
  bool compare_exchange_strong(T& expected, T value, std::memory_order, std::memory_order) {
    return compare_exchange_strong(expected, value);
  }
  T fetch_add(T by, std::memory_order = std::memory_order_seq_cst) {
    return at(Access::write).fetch_add(by);
  }
  T fetch_sub(T by, std::memory_order = std::memory_order_seq_cst) {
    return at(Access::write).fetch_sub(by);
  }

  operator T() const { return load(); }
  T operator=(T value) {
    store(value);
    return value;
  }
  T operator++() { return fetch_add(1) + 1; }
  T operator++(int) { return fetch_add(1); }
  T operator--() { return fetch_sub(1) - 1; }
  T operator--(int) { return fetch_sub(1); }

 private:
  std::atomic<T>& at(Access kind) const {
    if (is_controlled()) access(point_, kind);
    return value_;
  }

  mutable MeetingPoint point_;
  mutable std::atomic<T> value_{};
};

// Joins when it is destroyed.
class ScheduledThread {
 public:
  explicit ScheduledThread(std::function<void()> body) {
    if (is_controlled()) {
      number_ = start_thread(std::move(body));
    } else {
      real_ = std::thread(std::move(body));
    }
  }
  ScheduledThread(ScheduledThread&& other) noexcept
      : number_(std::exchange(other.number_, nobody)), real_(std::move(other.real_)) {}
  ScheduledThread& operator=(ScheduledThread&&) = delete;
  ~ScheduledThread() {
    if (number_ != nobody) join_thread(number_);
    if (real_.joinable()) real_.join();
  }

 private:
  ThreadNumber number_ = nobody;
  std::thread real_;
};

}  // namespace gradcts::schedule

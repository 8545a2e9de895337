// Mutex, condition, atomic and thread whose operations are steps of the schedule. Under control they
// ask the scheduler; outside they are the standard ones, with delays if these are asked for (delays.h).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "conformance/explore/rebuilt/delays.h"
#include "conformance/explore/rebuilt/meeting_point.h"

namespace gradcts::schedule {

class ScheduledMutex {
 public:
  // The real one is taken too, for threads outside control; under control it is free by then.
  void lock() {
    is_controlled() ? schedule::lock(point_) : delay();
    real_.lock();
  }
  void unlock() {
    real_.unlock();
    is_controlled() ? schedule::unlock(point_) : delay();
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
    is_controlled() ? schedule::notify(point_, false) : delay();
    real_.notify_one();
  }
  void notify_all() {
    is_controlled() ? schedule::notify(point_, true) : delay();
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

// Around one operation: a step of the schedule, or a delay before it and one after it.
class AroundOperation {
 public:
  AroundOperation(MeetingPoint& point, Access kind) : is_step_(is_controlled()) {
    is_step_ ? access(point, kind) : delay();
  }
  ~AroundOperation() {
    if (!is_step_) delay();
  }
  AroundOperation(const AroundOperation&) = delete;
  AroundOperation& operator=(const AroundOperation&) = delete;

 private:
  const bool is_step_;
};

// Under control one thread runs at a time and sees what the others wrote: orders weaker than the
// strongest are not explored. Outside they are what the caller says, so that sanitizers can judge them.
template <typename T>
class ScheduledAtomic {
 public:
  using Order = std::memory_order;
  static constexpr Order strongest = std::memory_order_seq_cst;

  ScheduledAtomic() = default;
  ScheduledAtomic(T value) : value_(value) {}

  T load(Order order = strongest) const {
    const AroundOperation around(point_, Access::read);
    return value_.load(order);
  }
  void store(T value, Order order = strongest) {
    const AroundOperation around(point_, Access::write);
    value_.store(value, order);
  }
  T exchange(T value, Order order = strongest) {
    const AroundOperation around(point_, Access::write);
    return value_.exchange(value, order);
  }
  bool compare_exchange_strong(T& expected, T value, Order order = strongest) {
    const AroundOperation around(point_, Access::write);
    return value_.compare_exchange_strong(expected, value, order);
  }
  bool compare_exchange_strong(T& expected, T value, Order success, Order failure) {
    const AroundOperation around(point_, Access::write);
    return value_.compare_exchange_strong(expected, value, success, failure);
  }
  T fetch_add(T by, Order order = strongest) {
    const AroundOperation around(point_, Access::write);
    return value_.fetch_add(by, order);
  }
  T fetch_sub(T by, Order order = strongest) {
    const AroundOperation around(point_, Access::write);
    return value_.fetch_sub(by, order);
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
  mutable MeetingPoint point_;
  std::atomic<T> value_{};
};

// A thread that is not under control: where it begins and where it ends are places for delays as well.
inline std::thread delayed_thread(std::function<void()> body) {
  return std::thread([body = std::move(body)]() mutable {
    delay();
    body();
    body = nullptr;  // what it holds is let go before the last delay, as it is without one
    delay();
  });
}

// Joins when it is destroyed.
class ScheduledThread {
 public:
  explicit ScheduledThread(std::function<void()> body) {
    if (is_controlled()) {
      number_ = start_thread(std::move(body));
    } else {
      real_ = delayed_thread(std::move(body));
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

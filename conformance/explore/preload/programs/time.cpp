#include <pthread.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "conformance/explore/preload/programs/program.h"

namespace gradcts::schedule::programs {
namespace {

using namespace std::chrono_literals;

// Nobody signals: the time-out ends it, at once, and the clock shows that an hour has passed.
bool time_out() {
  std::mutex mutex;
  std::condition_variable never;
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex);
  const bool signalled = never.wait_for(lock, 1h, [] { return false; });
  return !signalled && std::chrono::steady_clock::now() - begin >= 1h;
}

// The signal comes: no time-out without need.
bool signal_before_the_time_out() {
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = false;
  std::thread producer([&] {
    std::lock_guard guard(mutex);
    ready = true;
    changed.notify_one();
  });
  std::cv_status status = std::cv_status::no_timeout;
  {
    std::unique_lock lock(mutex);
    while (!ready) status = changed.wait_for(lock, 1h);
  }
  producer.join();
  return status == std::cv_status::no_timeout;
}

bool time_out_of_a_lock() {
  std::timed_mutex mutex;
  std::lock_guard guard(mutex);
  bool taken = true;
  std::thread([&] { taken = mutex.try_lock_for(1h); }).join();
  return !taken;
}

bool sleepers() {
  std::vector<int> order;
  std::mutex mutex;
  std::thread sleeper([&] {
    std::this_thread::sleep_for(1h);
    std::lock_guard guard(mutex);
    order.push_back(2);
  });
  {
    std::lock_guard guard(mutex);
    order.push_back(1);
  }
  sleeper.join();
  return order == std::vector{1, 2};
}

// A program that only looks at the clock ends too.
bool watching_the_clock() {
  const auto end = std::chrono::steady_clock::now() + 100ms;
  while (std::chrono::steady_clock::now() < end) {
  }
  return true;
}

// An hour from now on that clock, which is long past on the other one. The signal comes first.
bool deadline_of_the_monotonic_clock() {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_t changed;
  pthread_cond_init(&changed, &attributes);
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  bool ready = false;
  pthread_mutex_lock(&mutex);
  std::thread producer([&] {
    pthread_mutex_lock(&mutex);
    ready = true;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
  });
  timespec deadline;
  clock_gettime(CLOCK_MONOTONIC, &deadline);
  deadline.tv_sec += 3600;
  bool timed_out = false;
  while (!ready) timed_out |= pthread_cond_timedwait(&changed, &mutex, &deadline) == ETIMEDOUT;
  pthread_mutex_unlock(&mutex);
  producer.join();
  pthread_cond_destroy(&changed);
  return !timed_out;
}

}  // namespace

const std::vector<Program> of_time = {
    {"time_out", time_out},
    {"signal_before_the_time_out", signal_before_the_time_out},
    {"time_out_of_a_lock", time_out_of_a_lock},
    {"sleepers", sleepers},
    {"watching_the_clock", watching_the_clock},
    {"deadline_of_the_monotonic_clock", deadline_of_the_monotonic_clock},
};

}  // namespace gradcts::schedule::programs

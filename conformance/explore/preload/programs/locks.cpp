#include <pthread.h>

#include <cerrno>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "conformance/explore/preload/programs/program.h"

namespace gradcts::schedule::programs {

std::mutex first_mutex;  // named in the report
std::mutex second_mutex;

namespace {

void lock_both(std::mutex& one, std::mutex& other) {
  std::lock_guard outer(one);
  std::lock_guard inner(other);
}

bool lock_inversion() {
  std::thread thread([] { lock_both(second_mutex, first_mutex); });
  lock_both(first_mutex, second_mutex);
  thread.join();
  return true;
}

bool ordered_locks() {
  std::thread thread([] { lock_both(first_mutex, second_mutex); });
  lock_both(first_mutex, second_mutex);
  thread.join();
  return true;
}

// The circle of two is a deadlock although a third thread goes on.
bool lock_inversion_beside_a_busy_thread() {
  std::thread busy([] {
    std::mutex mutex;
    for (int i = 0; i < 200; ++i) std::lock_guard guard(mutex);
  });
  lock_inversion();
  busy.join();
  return true;
}

// The scenario is over before its threads are.
bool lock_inversion_of_threads_left_behind() {
  std::thread([] { lock_both(first_mutex, second_mutex); }).detach();
  std::thread([] { lock_both(second_mutex, first_mutex); }).detach();
  return true;
}

bool counting_under_a_mutex() {
  int count = 0;
  std::mutex mutex;
  const auto add = [&] {
    for (int i = 0; i < 10; ++i) {
      std::lock_guard guard(mutex);
      const int seen = count;
      std::this_thread::yield();
      count = seen + 1;
    }
  };
  std::thread one(add), two(add);
  one.join();
  two.join();
  return count == 20;
}

bool recursive_mutex() {
  std::recursive_mutex mutex;
  int inside = 0;
  bool alone = true;
  const auto enter = [&] {
    std::lock_guard outer(mutex);
    std::lock_guard inner(mutex);
    alone &= ++inside == 1;
    std::this_thread::yield();
    --inside;
  };
  std::thread one(enter), two(enter);
  one.join();
  two.join();
  return alone;
}

bool try_lock() {
  std::mutex mutex;
  std::lock_guard guard(mutex);
  bool taken = true;
  std::thread([&] { taken = mutex.try_lock(); }).join();
  return !taken;
}

bool error_checking_mutex() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t mutex;
  pthread_mutex_init(&mutex, &attributes);
  pthread_mutex_lock(&mutex);
  const bool refused = pthread_mutex_lock(&mutex) == EDEADLK;
  pthread_mutex_unlock(&mutex);
  return refused && pthread_mutex_unlock(&mutex) == EPERM;
}

bool locking_twice() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_lock(&mutex);
  return true;
}

bool readers_and_a_writer() {
  std::shared_mutex mutex;
  int value = 0, copy = 0;
  bool consistent = true;
  const auto read = [&] {
    for (int i = 0; i < 5; ++i) {
      std::shared_lock lock(mutex);
      consistent &= value == copy;
    }
  };
  std::thread one(read), two(read);
  for (int i = 0; i < 5; ++i) {
    std::unique_lock lock(mutex);
    ++value;
    std::this_thread::yield();
    ++copy;
  }
  one.join();
  two.join();
  return consistent;
}

// Both read, and both want to write before they stop reading.
bool two_upgrades() {
  pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
  const auto upgrade = [&] {
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_wrlock(&lock);
  };
  std::thread one(upgrade), two(upgrade);
  one.join();
  two.join();
  return true;
}

}  // namespace

const std::vector<Program> of_locks = {
    {"lock_inversion", lock_inversion},
    {"ordered_locks", ordered_locks},
    {"lock_inversion_beside_a_busy_thread", lock_inversion_beside_a_busy_thread},
    {"lock_inversion_of_threads_left_behind", lock_inversion_of_threads_left_behind},
    {"counting_under_a_mutex", counting_under_a_mutex},
    {"recursive_mutex", recursive_mutex},
    {"try_lock", try_lock},
    {"error_checking_mutex", error_checking_mutex},
    {"locking_twice", locking_twice},
    {"readers_and_a_writer", readers_and_a_writer},
    {"two_upgrades", two_upgrades},
};

}  // namespace gradcts::schedule::programs

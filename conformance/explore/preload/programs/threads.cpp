#include <pthread.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "conformance/explore/preload/programs/program.h"

namespace gradcts::schedule::programs {
namespace {

int count_leaves(int depth) {
  if (depth == 0) return 1;
  int left = 0;
  std::thread thread([&] { left = count_leaves(depth - 1); });
  const int right = count_leaves(depth - 1);
  thread.join();
  return left + right;
}

bool tree_of_threads() {
  return count_leaves(3) == 8;
}

bool detached_thread() {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::thread([&] {
    std::lock_guard guard(mutex);
    done = true;
    changed.notify_one();
  }).detach();
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done; });
  return true;
}

void* exit_in_the_middle(void*) {
  pthread_exit(reinterpret_cast<void*>(7));
}

bool results_of_threads() {
  pthread_t thread;
  void* result = nullptr;
  pthread_create(&thread, nullptr, exit_in_the_middle, nullptr);
  pthread_join(thread, &result);
  return result == reinterpret_cast<void*>(7);
}

bool call_once() {
  std::once_flag flag;
  std::mutex mutex;
  int calls = 0;
  bool all_saw_it = true;
  const auto use = [&] {
    std::call_once(flag, [&] {
      std::lock_guard guard(mutex);
      ++calls;
      std::this_thread::yield();
    });
    all_saw_it &= calls == 1;
  };
  std::thread one(use), two(use);
  use();
  one.join();
  two.join();
  return calls == 1 && all_saw_it;
}

struct Slow {
  Slow() {
    std::lock_guard guard(mutex);
    ++made;
    std::this_thread::yield();
    value = 7;
  }
  static inline std::mutex mutex;
  static inline int made = 0;
  int value = 0;
};

template <std::size_t number>
const Slow& slow() {
  static const Slow object;
  return object;
}

// A static object is initialised once in a process, so each schedule takes another one.
using GetSlow = const Slow& (*)();
template <std::size_t... numbers>
constexpr std::array<GetSlow, sizeof...(numbers)> all_slow(std::index_sequence<numbers...>) {
  return {slow<numbers>...};
}

bool static_object() {
  static constexpr auto objects = all_slow(std::make_index_sequence<400>());
  static std::size_t next = 0;
  const GetSlow get = objects.at(next++);
  Slow::made = 0;
  bool right = true;
  const auto use = [&] { right &= get().value == 7 && Slow::made == 1; };
  std::thread one(use), two(use);
  use();
  one.join();
  two.join();
  return right;
}

// The initialisation of a static object waits for a thread that uses it.
int answer_of_another_thread();
int answer() {
  static const int value = answer_of_another_thread();
  return value;
}
int answer_of_another_thread() {
  int value = 0;
  std::thread([&] { value = answer(); }).join();
  return value;
}
bool static_object_that_waits_for_itself() {
  return answer() == 0;
}

std::mutex at_exit_mutex;
int at_exit_count = 0;

void count_at_exit() {
  std::lock_guard guard(at_exit_mutex);
  const int seen = at_exit_count;
  std::this_thread::yield();
  at_exit_count = seen + 1;
}

struct CountsAtExit {
  ~CountsAtExit() { count_at_exit(); }
};

pthread_key_t key_with_destructor() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    pthread_key_create(&made, [](void*) { count_at_exit(); });
    return made;
  }();
  return key;
}

// What a thread does at its end is part of the schedule, and over when it is joined.
bool destructors_at_the_end_of_threads() {
  at_exit_count = 0;
  const auto body = [] {
    thread_local CountsAtExit object;
    pthread_setspecific(key_with_destructor(), &object);
  };
  std::thread one(body), two(body), three(body);
  one.join();
  two.join();
  three.join();
  return at_exit_count == 6;
}

bool join_after_the_end() {
  std::thread thread([] {});
  for (int i = 0; i < 20; ++i) std::this_thread::yield();
  thread.join();
  return true;
}

}  // namespace

const std::vector<Program> of_threads = {
    {"tree_of_threads", tree_of_threads},
    {"detached_thread", detached_thread},
    {"results_of_threads", results_of_threads},
    {"call_once", call_once},
    {"static_object", static_object},
    {"static_object_that_waits_for_itself", static_object_that_waits_for_itself},
    {"destructors_at_the_end_of_threads", destructors_at_the_end_of_threads},
    {"join_after_the_end", join_after_the_end},
};

}  // namespace gradcts::schedule::programs

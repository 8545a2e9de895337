#include <atomic>
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

#include "conformance/explore/preload/programs/program.h"

namespace gradcts::schedule::programs {

std::condition_variable changed;  // named in the report

namespace {

// The flag is not set under the mutex, so the signal may come between the test and the wait.
bool lost_wake_up() {
  std::mutex mutex;
  std::atomic<bool> ready = false;
  std::thread producer([&] {
    ready = true;
    changed.notify_one();
  });
  {
    std::unique_lock lock(mutex);
    while (!ready) changed.wait(lock);
  }
  producer.join();
  return true;
}

bool wake_up() {
  std::mutex mutex;
  bool ready = false;
  std::thread producer([&] {
    std::lock_guard guard(mutex);
    ready = true;
    changed.notify_one();
  });
  {
    std::unique_lock lock(mutex);
    while (!ready) changed.wait(lock);
  }
  producer.join();
  return true;
}

// Takes every wake-up for the signal.
bool wait_without_a_loop() {
  std::mutex mutex;
  bool ready = false, was_ready = false;
  std::thread producer([&] {
    std::lock_guard guard(mutex);
    ready = true;
    changed.notify_one();
  });
  {
    std::unique_lock lock(mutex);
    if (!ready) changed.wait(lock);
    was_ready = ready;
  }
  producer.join();
  return was_ready;
}

class Queue {
 public:
  void push(int item) {
    std::lock_guard guard(mutex_);
    items_.push(item);
    not_empty_.notify_one();
  }
  int pop() {
    std::unique_lock lock(mutex_);
    not_empty_.wait(lock, [this] { return !items_.empty(); });
    const int item = items_.front();
    items_.pop();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable not_empty_;
  std::queue<int> items_;
};

bool producers_and_consumers() {
  Queue queue;
  std::atomic<int> sum = 0;
  const auto produce = [&] {
    for (int i = 1; i <= 5; ++i) queue.push(i);
  };
  const auto consume = [&] {
    for (int i = 0; i < 5; ++i) sum += queue.pop();
  };
  std::thread threads[] = {std::thread(produce), std::thread(consume), std::thread(produce),
                           std::thread(consume)};
  for (std::thread& thread : threads) thread.join();
  return sum == 30;
}

// One signal for two waiters: the other sleeps for ever.
bool signal_in_place_of_broadcast() {
  std::mutex mutex;
  bool open = false;
  const auto pass = [&] {
    std::unique_lock lock(mutex);
    while (!open) changed.wait(lock);
  };
  std::thread one(pass), two(pass);
  {
    std::lock_guard guard(mutex);
    open = true;
    changed.notify_one();
  }
  one.join();
  two.join();
  return true;
}

// A pool thread that was there before control began, and answers requests.
class Server {
 public:
  Server() : thread_([this] { serve(); }) {}
  ~Server() {
    requests_.push(0);
    thread_.join();
  }
  int ask(int request) {
    requests_.push(request);
    return answers_.pop();
  }

 private:
  void serve() {
    while (const int request = requests_.pop()) answers_.push(2 * request);
  }

  Queue requests_;
  Queue answers_;
  std::thread thread_;
};

bool pool_thread() {
  static Server server;
  std::thread other([] {});
  const int answer = server.ask(21);
  other.join();
  return answer == 42;
}

}  // namespace

const std::vector<Program> of_conditions = {
    {"lost_wake_up", lost_wake_up},
    {"wake_up", wake_up},
    {"wait_without_a_loop", wait_without_a_loop},
    {"producers_and_consumers", producers_and_consumers},
    {"signal_in_place_of_broadcast", signal_in_place_of_broadcast},
    {"pool_thread", pool_thread},
};

}  // namespace gradcts::schedule::programs

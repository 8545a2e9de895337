// The world around the schedule: other threads, forks, exits.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "conformance/explore/preload/programs/program.h"

namespace gradcts::schedule::programs {
namespace {

// A thread that never sleeps in a condition wait, and so stays outside control. It adds to a
// counter under the mutex, as the threads under control do.
class BusyThread {
 public:
  BusyThread() : thread_([this] { work(); }) {}
  ~BusyThread() {
    stop_ = true;
    thread_.join();
  }

  void add(int times) {
    for (int i = 0; i < times; ++i) {
      std::lock_guard guard(mutex_);
      const int seen = count_;
      ++added_;
      count_ = seen + 1;
    }
  }

  bool adds_up() {
    std::lock_guard guard(mutex_);
    return count_ == added_;
  }

  // Until the other thread has done so once more.
  void await_work() {
    std::unique_lock lock(mutex_);
    const int seen = rounds_;
    worked_.wait(lock, [&] { return rounds_ > seen; });
  }

 private:
  void work() {
    while (!stop_) {
      add(1);
      std::lock_guard guard(mutex_);
      ++rounds_;
      worked_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable worked_;
  int count_ = 0, added_ = 0, rounds_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

BusyThread* busy = nullptr;

bool beside_a_busy_thread() {
  std::thread other([] { busy->add(100); });
  busy->add(100);
  busy->await_work();
  other.join();
  return busy->adds_up();
}

// The child of a fork is on its own: locks, threads and joins work there without control.
bool fork_under_control() {
  std::mutex mutex;
  std::thread other([&] { std::lock_guard guard(mutex); });
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);  // a child that hangs would keep its parent's pipes open
    std::mutex own;
    std::thread thread([&] { std::lock_guard guard(own); });
    thread.join();
    _exit(7);
  }
  other.join();
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

bool exit_under_control() {
  static std::mutex mutex;
  std::thread([] { std::lock_guard guard(mutex); }).detach();
  std::exit(7);
}

}  // namespace

const std::vector<Program> of_processes = {
    {"beside_a_busy_thread", beside_a_busy_thread, [] { busy = new BusyThread; }},
    {"fork_under_control", fork_under_control},
    {"exit_under_control", exit_under_control},
};

}  // namespace gradcts::schedule::programs

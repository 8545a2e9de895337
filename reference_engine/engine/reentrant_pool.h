// Threads for passes that nest too deep for one stack (REENT-3).
//
// Note [Nested passes]
// ~~~~~~~~~~~~~~~~~~~~
// A node that starts a pass must not block its thread: the thread may be the only one that can run
// the nested nodes. So the thread goes back to work, one level deeper on the same stack, until the
// nested pass is over. Each level takes stack, so from a limit on the thread hands its queue over
// to a pool thread instead, which serves it with a stack of its own until the nested pass is over,
// and sleeps meanwhile. Nesting of any depth then takes about depth / limit threads, which are kept
// and used again.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "reference_engine/engine/thread_counter.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {

// Thread-safe. Shared with its threads, which may outlive the engine (SHUT-2).
class ReentrantPool : public std::enable_shared_from_this<ReentrantPool> {
 public:
  // Runs the work, which must not throw, on a pool thread, and returns when it is done.
  void run_and_wait(std::function<void()> work);

  // The same without waiting.
  void run(std::function<void()> work);

  void push_shutdown();
  ThreadCounter& threads() { return threads_; }

 private:
  class Job;
  void add(std::shared_ptr<Job> job);
  void serve();
  std::shared_ptr<Job> next_job() GRADCTS_EXCLUDES(mutex_);
  void become_idle() GRADCTS_EXCLUDES(mutex_);

  Mutex mutex_;
  ConditionVariable changed_;
  std::deque<std::shared_ptr<Job>> jobs_ GRADCTS_GUARDED_BY(mutex_);
  std::size_t idle_ GRADCTS_GUARDED_BY(mutex_) = 0;
  bool is_shut_down_ GRADCTS_GUARDED_BY(mutex_) = false;
  ThreadCounter threads_;
};

}  // namespace gradcts::reference

#include "reference_engine/engine/reentrant_pool.h"

#include "reference_engine/engine/fork_guard.h"
#include "reference_engine/sync/thread.h"

namespace gradcts::reference {

class ReentrantPool::Job {
 public:
  explicit Job(std::function<void()> work) : work_(std::move(work)) {}

  void work() const { work_(); }

  void finish() {
    LockGuard lock(mutex_);
    is_done_ = true;
    changed_.notify_one();
  }

  void wait() {
    LockGuard lock(mutex_);
    while (!is_done_) changed_.wait(mutex_);
  }

 private:
  const std::function<void()> work_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool is_done_ GRADCTS_GUARDED_BY(mutex_) = false;
};

// A thread is started if those that are idle have enough to do with the jobs that wait already.
// After a shutdown too: the pass that asks was running then, and is left to itself.
void ReentrantPool::add(std::shared_ptr<Job> job) {
  bool needs_thread;
  {
    LockGuard lock(mutex_);
    needs_thread = idle_ <= jobs_.size();
    jobs_.push_back(std::move(job));
    changed_.notify_one();
  }
  if (needs_thread) {
    note_worker_started();
    threads_.add();
    start_detached_thread([self = shared_from_this()] {
      self->serve();
      self->threads_.remove();
    });
  }
}

void ReentrantPool::run_and_wait(std::function<void()> work) {
  const auto job = std::make_shared<Job>(std::move(work));
  add(job);
  job->wait();
}

void ReentrantPool::run(std::function<void()> work) {
  add(std::make_shared<Job>(std::move(work)));
}

void ReentrantPool::become_idle() {
  LockGuard lock(mutex_);
  ++idle_;
}

std::shared_ptr<ReentrantPool::Job> ReentrantPool::next_job() {
  LockGuard lock(mutex_);
  while (jobs_.empty() && !is_shut_down_) changed_.wait(mutex_);
  --idle_;
  if (jobs_.empty()) return nullptr;
  auto job = std::move(jobs_.front());
  jobs_.pop_front();
  return job;
}

// A thread is idle again before anybody can know that its job is done: who then has the next one
// finds it, and starts no other.
void ReentrantPool::serve() {
  become_idle();
  while (const auto job = next_job()) {
    job->work();
    become_idle();
    job->finish();
  }
}

void ReentrantPool::push_shutdown() {
  LockGuard lock(mutex_);
  is_shut_down_ = true;
  changed_.notify_all();
}

}  // namespace gradcts::reference

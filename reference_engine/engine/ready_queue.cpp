#include "reference_engine/engine/ready_queue.h"

#include "reference_engine/engine/graph_task.h"

namespace gradcts::reference {

ReadyQueue::Next ReadyQueue::pop_no_entry(bool had_mail) {
  if (shutdown_seen_) {
    shutdown_seen_ = false;
    return Next::shutdown;
  }
  // The mail may have been a mere wake-up: what it is about is to be looked at before any wait.
  if (!had_mail) wait();
  return Next::woken;
}

void ReadyQueue::empty_inbox() {
  LockGuard lock(mutex_);
  for (const ReadyEntry& entry : inbox_) push_own(entry);
  inbox_.clear();
  shutdown_seen_ |= shutdown_;
  shutdown_ = false;
  has_mail_.store(false, std::memory_order_relaxed);
}

void ReadyQueue::wait() {
  {
    LockGuard lock(mutex_);
    while (!has_mail_.load(std::memory_order_relaxed)) mail_.wait(mutex_);
  }
  empty_inbox();
}

bool ReadyQueue::push(const ReadyEntry& entry) {
  LockGuard lock(mutex_);
  if (entry.task->is_given_up()) return false;
  inbox_.push_back(entry);
  has_mail_.store(true, std::memory_order_release);
  mail_.notify_one();
  return true;
}

void ReadyQueue::wake() {
  LockGuard lock(mutex_);
  has_mail_.store(true, std::memory_order_release);
  mail_.notify_one();
}

void ReadyQueue::push_shutdown() {
  LockGuard lock(mutex_);
  shutdown_ = true;
  has_mail_.store(true, std::memory_order_release);
  mail_.notify_one();
}

std::size_t ReadyQueue::remove(const GraphTask& task) {
  LockGuard lock(mutex_);
  const auto is_of_task = [&](const ReadyEntry& entry) { return entry.task == &task; };
  return entries_.remove(task) + std::erase_if(inbox_, is_of_task);
}

}  // namespace gradcts::reference

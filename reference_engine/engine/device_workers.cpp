#include "reference_engine/engine/device_workers.h"

#include <exception>
#include <utility>

#include "reference_engine/device/stream.h"
#include "reference_engine/engine/fork_guard.h"
#include "reference_engine/engine/thread_context.h"
#include "reference_engine/sync/thread.h"

namespace gradcts::reference {

// How the start of one thread ended, for who waits for it. An error is handed over whole: the
// caller reads it and lets it go, and the thread that failed no longer has it.
class DeviceWorkers::Start {
 public:
  void finish(std::exception_ptr error) {
    LockGuard lock(mutex_);
    error_ = std::move(error);
    is_finished_ = true;
    changed_.notify_one();
  }

  void wait() {
    LockGuard lock(mutex_);
    while (!is_finished_) changed_.wait(mutex_);
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  bool is_finished_ GRADCTS_GUARDED_BY(mutex_) = false;
  std::exception_ptr error_ GRADCTS_GUARDED_BY(mutex_);
};

// The lock is held while a thread starts, so that two that race for a device start one worker; what
// runs meanwhile is the device's own code.
std::shared_ptr<ReadyQueue> DeviceWorkers::queue_of(Device device) {
  LockGuard lock(mutex_);
  auto& queue = queues_[device];
  if (queue) return queue;
  note_worker_started();
  auto made = std::make_shared<ReadyQueue>();
  auto start = std::make_shared<Start>();
  threads_.add();  // before the thread runs, so that a stop at once waits for it (SHUT-3)
  start_detached_thread(
      [self = shared_from_this(), device, made, start] { self->run(device, made, *start); });
  start->wait();
  queue = std::move(made);
  return queue;
}

void DeviceWorkers::run(Device device, const std::shared_ptr<ReadyQueue>& queue, Start& start) {
  std::exception_ptr refusal;
  try {
    set_current_device(device);
  } catch (...) {
    refusal = std::current_exception();
  }
  if (refusal) {
    threads_.remove();  // before the caller hears of it: it may count threads
    return start.finish(std::move(refusal));
  }
  thread_context().queue = queue;
  start.finish(nullptr);
  serve_();
  threads_.remove();
}

void DeviceWorkers::push_shutdown() {
  LockGuard lock(mutex_);
  for (const auto& [device, queue] : queues_) {
    if (queue) queue->push_shutdown();
  }
}

}  // namespace gradcts::reference

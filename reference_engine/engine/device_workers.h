// One thread a device, started when a pass first needs it (DEV-2).
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "reference_engine/device/device.h"
#include "reference_engine/engine/ready_queue.h"
#include "reference_engine/engine/thread_counter.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {

// Thread-safe. Shared with its threads, which may outlive the engine (SHUT-2).
class DeviceWorkers : public std::enable_shared_from_this<DeviceWorkers> {
 public:
  // `serve` runs the queue that its thread finds in its context, until shutdown.
  explicit DeviceWorkers(std::function<void()> serve) : serve_(std::move(serve)) {}

  // The queue of a device, whose thread runs when this returns. Throws what the device throws when
  // its thread makes it current; the next call tries again (DEV-5).
  std::shared_ptr<ReadyQueue> queue_of(Device device);

  void push_shutdown();
  ThreadCounter& threads() { return threads_; }

 private:
  class Start;
  void run(Device device, const std::shared_ptr<ReadyQueue>& queue, Start& start);

  const std::function<void()> serve_;
  Mutex mutex_;
  std::map<Device, std::shared_ptr<ReadyQueue>> queues_ GRADCTS_GUARDED_BY(mutex_);
  ThreadCounter threads_;
};

}  // namespace gradcts::reference

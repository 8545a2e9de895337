// What an engine consists of. Shared by the engine and its threads: a thread that could not be
// stopped in time keeps what it uses (SHUT-2).
#pragma once

#include <memory>

#include "reference_engine/engine/device_workers.h"
#include "reference_engine/engine/engine.h"
#include "reference_engine/engine/graph_task.h"
#include "reference_engine/engine/reentrant_pool.h"
#include "reference_engine/sync/atomic.h"

namespace gradcts::reference {

class EngineState {
 public:
  EngineState();

  // A new pass called on this thread, inside the one that the thread works for. Throws where the
  // engine cannot run passes (SHUT-4, FORK-1).
  OwnedTask make_task(const PassOptions& options);

  // Runs a planned pass on this thread, and takes its results.
  std::vector<Tensor> execute(GraphTask& task, absl::Span<const Root> roots);

  void stop();

  Atomic<int> nesting_limit{60};
  const std::shared_ptr<DeviceWorkers> workers;
  const std::shared_ptr<ReentrantPool> pool;

 private:
  void start(GraphTask& task, absl::Span<const Root> roots);
  void run(GraphTask& task);
  std::vector<Tensor> finish(GraphTask& task);

  Atomic<bool> is_stopped_{false};
};

}  // namespace gradcts::reference

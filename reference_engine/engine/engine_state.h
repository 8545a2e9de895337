// What an engine consists of. Shared by the engine and its threads: a thread that could not be
// stopped in time keeps what it uses (SHUT-2).
#pragma once

#include <memory>

#include "reference_engine/engine/device_workers.h"
#include "reference_engine/engine/engine.h"
#include "reference_engine/engine/graph_task.h"
#include "reference_engine/engine/plan.h"
#include "reference_engine/engine/reentrant_pool.h"
#include "reference_engine/sync/atomic.h"

namespace gradcts::reference {

class EngineState {
 public:
  EngineState();

  void backward(absl::Span<const Root> roots, const BackwardOptions& options);
  std::vector<Tensor> grad(absl::Span<const Root> roots, absl::Span<const Capture> captures,
                           const GradOptions& options);

  void stop();

  void set_compiler(std::shared_ptr<PassCompiler> compiler);

  Atomic<int> nesting_limit{60};
  const std::shared_ptr<DeviceWorkers> workers;
  const std::shared_ptr<ReentrantPool> pool;

 private:
  class SharedPass;

  // A new pass called on this thread, inside the one that the thread works for. Throws where the
  // engine cannot run passes (SHUT-4, FORK-1).
  OwnedTask make_task(const PassOptions& options);

  std::shared_ptr<PassCompiler> compiler() const;
  void plan(GraphTask& task, const std::vector<Target>* targets);

  // Runs a planned pass on this thread, and takes its results.
  std::vector<Tensor> execute(GraphTask& task);

  void start(GraphTask& task);
  void run(GraphTask& task);
  std::vector<Tensor> finish(GraphTask& task);

  void enter_shared(const GraphTask& task);
  void leave_shared();

  // Twice the number of passes that need device threads, which are not told to end meanwhile
  // (SHUT-2); one more once the engine was stopped. One word, so that whoever changes the one knows
  // the other: of the last pass that leaves and the stop, exactly one tells the threads to end, and
  // none does while a pass counts on them.
  static constexpr int stopped = 1;
  static constexpr int one_pass = 2;
  Atomic<int> use_{0};

  Atomic<bool> has_compiler_{false};  // so that a pass without one takes no lock
  mutable Mutex compiler_mutex_;
  std::shared_ptr<PassCompiler> compiler_ GRADCTS_GUARDED_BY(compiler_mutex_);
};

}  // namespace gradcts::reference

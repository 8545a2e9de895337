// What the engine keeps on a thread: its ready queue, and the pass that it works for.
#pragma once

#include <memory>

#include "reference_engine/engine/graph_task.h"
#include "reference_engine/engine/ready_queue.h"
#include "reference_engine/graph/thread_mode.h"

namespace gradcts::reference {

struct ThreadContext {
  // Of the CPU's nodes of passes called on this thread; of its device's nodes, for a worker.
  std::shared_ptr<ReadyQueue> queue;

  GraphTask* task = nullptr;  // the innermost pass
  int nesting = 0;            // passes that this thread runs inside of others (REENT-3)
};

ThreadContext& thread_context();  // of this thread

// Puts everything on the thread that a pass changes back as it was (ERR-4, TLS-1): the pass, the
// recording mode, the user's value, the running node. The ready queue stays: it is empty.
class ThreadStateGuard {
 public:
  ThreadStateGuard();
  ~ThreadStateGuard();
  ThreadStateGuard(const ThreadStateGuard&) = delete;
  ThreadStateGuard& operator=(const ThreadStateGuard&) = delete;

  // Works for the pass from now on, as long as the guard lives or until the next call.
  void enter(GraphTask& task);

  // Undoes what a node may have changed: a change ends with the node that made it.
  void settle(const GraphTask& task) {
    mode_.recording = task.options.create_graph;
    mode_.anomaly = task.anomaly;
    if (mode_.value.get() != task.user_value.get()) mode_.value = task.user_value;
  }

  // Back to what was there at the beginning, and lets go of everything that came from a pass
  // (TLS-2).
  void leave();

  GraphTask* current() const { return context_.task; }

 private:
  ThreadContext& context_;
  ThreadMode& mode_;
  GraphTask* const previous_task_;
  const ThreadMode previous_mode_;
};

}  // namespace gradcts::reference

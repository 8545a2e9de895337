#include "reference_engine/engine/thread_context.h"

#include "reference_engine/engine/graph_task.h"
#include "reference_engine/engine/node_run.h"
#include "reference_engine/memory/per_thread.h"

namespace gradcts::reference {

ThreadContext& thread_context() {
  return PerThread<ThreadContext>::get();
}

ThreadStateGuard::ThreadStateGuard()
    : context_(thread_context()),
      mode_(thread_mode()),
      previous_task_(context_.task),
      previous_mode_(mode_) {}

ThreadStateGuard::~ThreadStateGuard() {
  leave();
}

void ThreadStateGuard::enter(GraphTask& task) {
  context_.task = &task;
  settle(task);
  mode_.running = {nullptr, &task, is_edge_needed_in_pass};
}

void ThreadStateGuard::leave() {
  context_.task = previous_task_;
  mode_ = previous_mode_;
}

}  // namespace gradcts::reference

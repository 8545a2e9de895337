// Running one node of a pass: from what arrived at it to what it delivers.
#pragma once

#include "reference_engine/engine/graph_task.h"
#include "reference_engine/graph/thread_mode.h"

namespace gradcts::reference {

// What running nodes needs of the thread; looked up once, used for each node.
struct WorkingThread {
  ThreadMode& mode;
  ReadyQueue& queue;  // that this thread owns
};

// Runs the node with its hooks and captures, and delivers its results; throws what goes wrong. The
// thread has entered the pass (thread_context.h).
void run_node(GraphTask& task, NodeState& state, WorkingThread& thread);

// Delivers the seed of a root. `order` is the root's place among the roots; `own_queue` is the
// thread's.
void deliver_seed(GraphTask& task, const Edge& root, Tensor seed, std::uint32_t order,
                  ReadyQueue& own_queue);

// The same for a gradient from outside, on any thread, in a pass that is not local.
void deliver_announced(GraphTask& task, const Edge& edge, Tensor gradient, Stream producer,
                       std::uint32_t order);

// For RunningNode.
bool is_edge_needed_in_pass(const void* pass, const Edge& edge);

}  // namespace gradcts::reference

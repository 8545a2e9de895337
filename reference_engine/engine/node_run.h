// Running the nodes of passes: from what arrived at a node to what it delivers.
#pragma once

#include "reference_engine/engine/graph_task.h"

namespace gradcts::reference {

// Serves the thread's queue until the pass is finished; without one, until shutdown. Between nodes
// of a pass of its own the thread stays in the pass; of another one it lets go at once, since the
// pass may be gone as soon as its node is finished. Whatever a node throws becomes the error of its
// pass.
void serve(GraphTask* until);

// Delivers the seed of a root. `order` is the root's place among the roots; `own_queue` is the
// thread's.
void deliver_seed(GraphTask& task, const Edge& root, Tensor seed, std::uint32_t order,
                  ReadyQueue& own_queue);

// The same for a gradient from outside, on any thread, in a pass that is not local. It is taken if
// the node takes part.
void deliver_announced(GraphTask& task, const Edge& edge, Tensor& gradient, Stream producer,
                       std::uint32_t order);

// Lets the worker of the pass's one device replay it. `own_queue` is the thread's.
void push_replay(GraphTask& task, ReadyQueue& own_queue);

// For RunningNode.
bool is_edge_needed_in_pass(const void* pass, const Edge& edge);

}  // namespace gradcts::reference

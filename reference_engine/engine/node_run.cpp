#include "reference_engine/engine/node_run.h"

#include "reference_engine/engine/deliveries.h"
#include "reference_engine/engine/node_evaluation.h"
#include "reference_engine/engine/thread_context.h"
#include "reference_engine/graph/leaf_accumulator.h"

namespace gradcts::reference {
namespace {

// What running nodes needs of the thread; looked up once, used for each node.
struct WorkingThread {
  ThreadMode& mode;
  ReadyQueue& queue;  // that this thread owns
};

// ---- Deliveries --------------------------------------------------------------------------------

inline ReadyEntry entry_of(GraphTask& task, NodeState& state) {
  return {ReadyEntry::make_priority(task.depth, state.node->sequence_number()), &task, &state};
}

// `own_queue` is the thread's, if it has one.
void push_entry(GraphTask& task, const ReadyEntry& entry, ReadyQueue& queue,
                ReadyQueue* own_queue) {
  task.add_outstanding();
  if (&queue == own_queue) {
    queue.push_own(entry);
  } else if (!queue.push(entry)) {
    task.finish_one();
  }
}

// Puts a node that has all it waits for into the ready queue of its device.
[[gnu::noinline]] void push_ready(GraphTask& task, NodeState& state, ReadyQueue* own_queue) {
  ReadyQueue& queue = task.is_local ? *own_queue : task.queue_of(*state.node);
  push_entry(task, entry_of(task, state), queue, own_queue);
}

// The state of the edge's node, if it waits for deliveries; null if it takes no part.
inline NodeState* receiver(const GraphTask& task, const Node& from, const Edge& edge) {
  NodeState* next = task.states.find(*edge.node);
  if (next && next->takes_part()) {
    if (next->missing == 0) detail::throw_unexpected(from, *edge.node);
    return next;
  }
  if (!next && !task.is_pruned) detail::throw_unexpected(from, *edge.node);
  return nullptr;
}

inline void deliver_local(GraphTask& task, const Node& node, Gradients& outputs,
                          ReadyQueue& queue) {
  Tensor* output = outputs.data();
  for (const Edge& edge : node.next_edges()) {
    Tensor& gradient = *output++;
    NodeState* next = edge ? receiver(task, node, edge) : nullptr;
    if (!next) continue;
    add_to_slot(*next->node, next->inputs, edge.slot, std::move(gradient));
    if (--next->missing != 0) continue;
    task.add_outstanding();
    queue.push_own(entry_of(task, *next));
  }
}

// Where gradients for the edge's node are put down: see Note [Two kinds of pass].
std::vector<Delivery>& deliveries_for(GraphTask& task, const Edge& edge)
    GRADCTS_REQUIRES(task.mutex) {
  return task.deliveries[task.states.find_index(*edge.node)];
}

void deliver_shared(GraphTask& task, const Node& node, std::uint32_t index, Gradients& outputs,
                    ReadyQueue& queue) {
  absl::InlinedVector<NodeState*, 4> ready;
  {
    LockGuard lock(task.mutex);
    const Edges& edges = node.next_edges();
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (!edges[i]) continue;
      NodeState* next = receiver(task, node, edges[i]);
      if (!next) continue;
      put_down(deliveries_for(task, edges[i]), edges[i], delivery_order(index, i),
               std::move(outputs[i]));
      if (--next->missing == 0) ready.push_back(next);
    }
  }
  for (NodeState* state : ready) push_ready(task, *state, &queue);
}

// ---- One node ----------------------------------------------------------------------------------

// Once the state is forgotten nothing arrives at it any more, and nobody empties it later.
class TakenInputs {
 public:
  TakenInputs(GraphTask& task, NodeState& state) : inputs_(state.inputs) {
    task.states.forget(state);
  }
  ~TakenInputs() { inputs_.clear(); }
  TakenInputs(const TakenInputs&) = delete;
  TakenInputs& operator=(const TakenInputs&) = delete;

  Gradients& operator*() const { return inputs_; }

 private:
  Gradients& inputs_;
};

inline void run_local(GraphTask& task, NodeState& state, WorkingThread& thread) {
  const TakenInputs inputs(task, state);
  receive(task, *state.node, state.capture, *inputs);
  if (!state.needed) return;
  Node& node = *state.node;
  Gradients outputs = evaluate(task, node, *inputs);
  deliver_local(task, node, outputs, thread.queue);
}

[[gnu::noinline]] void run_shared(GraphTask& task, NodeState& state, WorkingThread& thread) {
  std::uint32_t index;
  std::vector<Delivery> deliveries;
  {
    LockGuard lock(task.mutex);
    index = task.states.find_index(*state.node);
    deliveries = std::move(task.deliveries[index]);
    task.states.forget(state);
  }
  run_on_streams(
      task, *state.node, state.capture, state.needed, std::move(deliveries),
      [&](Gradients& outputs) { deliver_shared(task, *state.node, index, outputs, thread.queue); });
}

inline void run_node(GraphTask& task, NodeState& state, WorkingThread& thread) {
  thread.mode.running.node = state.node;
  if (task.is_local) [[likely]] {
    run_local(task, state, thread);
  } else {
    run_shared(task, state, thread);
  }
}

// ---- Serving a queue ---------------------------------------------------------------------------

inline void run_entry(const ReadyEntry& entry, ThreadStateGuard& state, WorkingThread& thread) {
  GraphTask& task = *entry.task;
  if (!task.has_error()) {
    if (state.current() != &task) state.enter(task);
    if (!entry.state) return task.compiled->run(task);
    try {
      run_node(task, *entry.state, thread);
    } catch (...) {
      take_error(task, *entry.state->node);
    }
    state.settle(task);
  }
}

}  // namespace

void serve(GraphTask* until) {
  ThreadContext& context = thread_context();
  WorkingThread thread{thread_mode(), *context.queue};
  ThreadStateGuard state;
  const int least_depth = until ? until->depth : 0;
  ReadyEntry entry{};
  while (!until || !until->is_finished()) {
    if (until && until->has_error()) until->cancel_announced();
    const ReadyQueue::Next next = thread.queue.pop(least_depth, entry);
    if (next == ReadyQueue::Next::shutdown) return;
    if (next == ReadyQueue::Next::woken) continue;
    run_entry(entry, state, thread);
    if (entry.task != until) state.leave();
    entry.task->finish_one();
  }
}

void deliver_seed(GraphTask& task, const Edge& root, Tensor seed, std::uint32_t order,
                  ReadyQueue& own_queue) {
  bool is_ready;
  NodeState* state;
  if (task.is_local) {
    state = task.states.find(*root.node);
    if (!state || !state->takes_part()) return;
    add_to_slot(*root.node, state->inputs, root.slot, std::move(seed));
    is_ready = --state->missing == 0;
  } else {
    LockGuard lock(task.mutex);
    state = task.states.find(*root.node);
    if (!state || !state->takes_part()) return;
    put_down(deliveries_for(task, root), root, order, std::move(seed));
    is_ready = --state->missing == 0;
  }
  if (is_ready) push_ready(task, *state, &own_queue);
}

void deliver_announced(GraphTask& task, const Edge& edge, Tensor& gradient, Stream producer,
                       std::uint32_t order) {
  NodeState* state;
  {
    LockGuard lock(task.mutex);
    state = task.states.find(*edge.node);
    if (!state || !state->takes_part()) return;
    put_down(deliveries_for(task, edge), edge, order, std::move(gradient), producer);
    if (--state->missing != 0) return;
  }
  push_ready(task, *state, nullptr);
}

void push_replay(GraphTask& task, ReadyQueue& own_queue) {
  const std::uint64_t priority = ReadyEntry::make_priority(task.depth, LeafAccumulator::sequence);
  push_entry(task, {priority, &task, nullptr}, *task.device_queues.front().second, &own_queue);
}

bool is_edge_needed_in_pass(const void* pass, const Edge& edge) {
  const auto& task = *static_cast<const GraphTask*>(pass);
  return task.is_needed(*edge.node);
}

}  // namespace gradcts::reference

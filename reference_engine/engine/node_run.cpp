#include "reference_engine/engine/node_run.h"

#include <algorithm>

#include "reference_engine/engine/node_evaluation.h"
#include "reference_engine/engine/thread_context.h"

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

// Puts a node that has all it waits for into the ready queue of its device. `own_queue` is the
// thread's, if it has one.
[[gnu::noinline]] void push_ready(GraphTask& task, NodeState& state, ReadyQueue* own_queue) {
  ReadyQueue& queue = task.is_local ? *own_queue : task.queue_of(*state.node);
  task.add_outstanding();
  if (&queue == own_queue) {
    queue.push_own(entry_of(task, state));
  } else if (!queue.push(entry_of(task, state))) {
    task.finish_one();
  }
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

// Puts the gradient down for the thread that will run the node: see Note [Two kinds of pass]. The
// event is recorded now, on the stream that has just written, and only if another one will read.
void put_down(GraphTask& task, const Edge& edge, std::uint64_t order, Tensor gradient,
              Stream producer) GRADCTS_REQUIRES(task.mutex) {
  if (!gradient.defined()) return;
  const bool crosses = producer != edge.node->slot(edge.slot).stream;
  Event written = crosses ? record_event(producer) : nullptr;
  task.deliveries[task.states.find_index(*edge.node)].push_back(
      {edge.slot, order, std::move(gradient), producer, std::move(written)});
}

void put_down(GraphTask& task, const Edge& edge, std::uint64_t order, Tensor gradient)
    GRADCTS_REQUIRES(task.mutex) {
  const Stream producer = gradient.defined() ? current_stream(gradient.device()) : Stream{};
  put_down(task, edge, order, std::move(gradient), producer);
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
      put_down(task, edges[i], (std::uint64_t{index} + 1) << 32 | i, std::move(outputs[i]));
      if (--next->missing == 0) ready.push_back(next);
    }
  }
  for (NodeState* state : ready) push_ready(task, *state, &queue);
}

// Adds up what was put down, on the node's thread and stream, in an order that does not depend on
// which came first (ACC-5).
Gradients add_up(const Node& node, std::vector<Delivery> deliveries) {
  std::sort(deliveries.begin(), deliveries.end(),
            [](const Delivery& a, const Delivery& b) { return a.order < b.order; });
  Gradients sums(node.slot_count());
  for (Delivery& delivery : deliveries) {
    const Stream reader = node.slot(delivery.slot).stream;
    wait_event(reader, delivery.written);
    register_use(delivery.gradient, reader);
    detail::add_to_sum(sums[delivery.slot], std::move(delivery.gradient));
  }
  return sums;
}

// ---- One node ----------------------------------------------------------------------------------

bool any_defined(const Gradients& gradients) {
  return std::any_of(gradients.begin(), gradients.end(),
                     [](const Tensor& gradient) { return gradient.defined(); });
}

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

// Streams of the node's slots are current while it runs, each on its device (STREAM-1).
class NodeStreams {
 public:
  explicit NodeStreams(const Node& node) : first_(node.stream()) {
    for (std::uint32_t slot = 1; slot < node.slot_count(); ++slot) {
      const Stream stream = node.slot(slot).stream;
      if (stream.device == node.stream().device || stream.device.is_cpu()) continue;
      previous_.push_back(current_stream(stream.device));
      set_current_stream(stream);
    }
  }
  ~NodeStreams() {
    for (auto it = previous_.rbegin(); it != previous_.rend(); ++it) set_current_stream(*it);
  }
  NodeStreams(const NodeStreams&) = delete;
  NodeStreams& operator=(const NodeStreams&) = delete;

 private:
  StreamGuard first_;
  absl::InlinedVector<Stream, 2> previous_;
};

[[gnu::noinline]] void run_shared(GraphTask& task, NodeState& state, WorkingThread& thread) {
  std::uint32_t index;
  std::vector<Delivery> deliveries;
  {
    LockGuard lock(task.mutex);
    index = task.states.find_index(*state.node);
    deliveries = std::move(task.deliveries[index]);
    task.states.forget(state);
  }
  const NodeStreams streams(*state.node);
  Gradients inputs = add_up(*state.node, std::move(deliveries));
  receive(task, *state.node, state.capture, inputs);
  if (!state.needed) return;
  Node& node = *state.node;
  const bool writes_leaf = node.next_edges().empty() && any_defined(inputs);
  Gradients outputs = evaluate(task, node, inputs);
  if (writes_leaf) note_written(task, node.stream());
  if (!task.has_error()) deliver_shared(task, node, index, outputs, thread.queue);
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
    put_down(task, root, order, std::move(seed));
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
    put_down(task, edge, order, std::move(gradient), producer);
    if (--state->missing != 0) return;
  }
  push_ready(task, *state, nullptr);
}

bool is_edge_needed_in_pass(const void* pass, const Edge& edge) {
  const auto& task = *static_cast<const GraphTask*>(pass);
  return task.is_needed(*edge.node);
}

}  // namespace gradcts::reference

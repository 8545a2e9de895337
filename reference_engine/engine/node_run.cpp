#include "reference_engine/engine/node_run.h"

#include <algorithm>
#include <cstdio>

#include "reference_engine/engine/thread_context.h"
#include "reference_engine/engine/validation.h"
#include "reference_engine/graph/accumulation.h"
#include "reference_engine/graph/node_hooks.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {
namespace {

// What running nodes needs of the thread; looked up once, used for each node.
struct WorkingThread {
  ThreadMode& mode;
  ReadyQueue& queue;  // that this thread owns
};

// Note [Rare work stays out of line]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// Most nodes have no hooks, are not captured and fail nothing, and for them this file is a few
// hundred instructions. What the others need is marked noinline: inlined, it would cost every node
// its stack frame and the saving of registers.

// ---- Errors ------------------------------------------------------------------------------------

[[noreturn, gnu::noinline]] void throw_bad_output(const Node& node, std::size_t index,
                                                  const Mismatch& mismatch) {
  throw Error(mismatch.category, "node " + node.name() + " returned an invalid gradient at index " +
                                     std::to_string(index) + ": " + mismatch.message);
}

[[noreturn, gnu::noinline]] void throw_bad_hook(const std::string& hook, const Node& node,
                                                const std::string& what) {
  throw Error(ErrorCategory::hook_result,
              hook + " of node " + node.name() + " returned an invalid result: " + what);
}

[[noreturn, gnu::noinline]] void throw_bad_count(const Node& node, std::size_t count) {
  throw Error(ErrorCategory::gradient_count,
              "node " + node.name() + " returned an invalid number of gradients: expected " +
                  std::to_string(node.next_edges().size()) + " but got " + std::to_string(count));
}

// A delivery that was not counted on: the graph was changed during the pass, or the engine is
// wrong.
[[noreturn, gnu::noinline]] void throw_unexpected(const Node& from, const Node& to) {
  throw Error(ErrorCategory::incomplete_pass, "node " + from.name() + " delivered to node " +
                                                  to.name() + ", which did not wait for it");
}

// ---- Hooks -------------------------------------------------------------------------------------

std::string hook_name(const char* kind, std::int64_t number) {
  return std::string(kind) + " " + std::to_string(number);
}

// Hooks may change values and not kinds.
void check_hook_result(const Node& node, const InputMetadata& expected, Tensor& result,
                       const std::string& hook, std::size_t index) {
  if (auto mismatch = fit(expected, result, true)) {
    throw_bad_hook(hook, node, "at index " + std::to_string(index) + " " + mismatch->message);
  }
}

void run_tensor_hooks(const Node& node, std::uint32_t slot, const SlotHooks& hooks,
                      Tensor& gradient) {
  hooks.tensor.for_each([&](const TensorHook& hook, std::int64_t number) {
    std::optional<Tensor> result = hook(gradient);
    if (!result) return;
    check_hook_result(node, node.slot(slot), *result, hook_name("tensor hook", number), slot);
    gradient = std::move(*result);
  });
}

// Adds to the `.grad` of a tensor that is no leaf, without taking anything over: the gradient flows
// on.
void keep_gradient(GradientCell& cell, const Tensor& gradient) {
  if (!gradient.defined()) return;
  cell.update([&](const Tensor& current) {
    return current.defined() ? accumulate(current, gradient) : gradient;
  });
}

[[gnu::noinline]] void run_slot_hooks(const Node& node, const NodeHooks& hooks, Gradients& inputs) {
  for (std::uint32_t slot = 0; slot < node.slot_count(); ++slot) {
    const std::shared_ptr<SlotHooks> slot_hooks = hooks.slot(slot);
    if (!slot_hooks) continue;
    run_tensor_hooks(node, slot, *slot_hooks, inputs[slot]);
    for (const auto& cell : hooks.retained(*slot_hooks)) keep_gradient(*cell, inputs[slot]);
  }
}

[[gnu::noinline]] void run_pre_hooks(const Node& node, const NodeHooks& hooks, Gradients& inputs) {
  hooks.pre.for_each([&](const NodePreHook& hook, std::int64_t number) {
    std::optional<Gradients> result = hook(inputs);
    if (!result) return;
    const std::string name = hook_name("pre-hook", number);
    if (result->size() != inputs.size()) {
      throw_bad_hook(name, node,
                     "expected " + std::to_string(inputs.size()) + " gradients but got " +
                         std::to_string(result->size()));
    }
    for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) {
      check_hook_result(node, node.slot(slot), (*result)[slot], name, slot);
    }
    inputs = std::move(*result);
  });
}

[[gnu::noinline]] void run_post_hooks(const Node& node, const NodeHooks& hooks, Gradients& outputs,
                                      const Gradients& inputs) {
  hooks.post.for_each([&](const NodePostHook& hook, std::int64_t number) {
    std::optional<Gradients> result = hook(outputs, inputs);
    if (!result) return;
    const std::string name = hook_name("post hook", number);
    if (result->size() != outputs.size()) {
      throw_bad_hook(name, node,
                     "expected " + std::to_string(outputs.size()) + " gradients but got " +
                         std::to_string(result->size()));
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Edge& edge = node.next_edges()[i];
      if (edge) check_hook_result(node, edge.node->slot(edge.slot), (*result)[i], name, i);
    }
    outputs = std::move(*result);
  });
}

// ---- Captures ----------------------------------------------------------------------------------

void note_written(GraphTask& task, Stream stream) {
  if (stream.device.is_cpu()) return;
  LockGuard lock(task.mutex);
  auto& streams = task.written_streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

Tensor run_capture_hooks(const PlannedCapture& capture, const Node& node, Tensor gradient) {
  for (std::size_t i = 0; i < capture.hooks.size(); ++i) {
    std::optional<Tensor> result = capture.hooks[i](gradient);
    if (!result) continue;
    check_hook_result(node, node.slot(capture.slot), *result,
                      hook_name("capture hook", static_cast<std::int64_t>(i)), capture.slot);
    gradient = std::move(*result);
  }
  return gradient;
}

[[gnu::noinline]] void run_captures(GraphTask& task, const NodeState& state,
                                    const Gradients& inputs) {
  for (std::uint32_t next = state.capture; next != 0;) {
    const PlannedCapture& capture = task.captures[next - 1];
    next = capture.next;
    const Tensor& gradient = inputs[capture.slot];
    if (gradient.defined()) note_written(task, state.node->slot(capture.slot).stream);
    if (capture.accumulate_into) {
      keep_gradient(*capture.accumulate_into, gradient);
    } else {
      task.results[capture.result] = run_capture_hooks(capture, *state.node, gradient);
    }
  }
}

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

[[gnu::noinline]] void fill_up(const Node& node, Gradients& inputs) {
  inputs.resize(node.slot_count());
}

[[gnu::noinline]] void add_to_sum(Tensor& sum, Tensor&& gradient) {
  sum = sum.defined() ? accumulate(std::move(sum), std::move(gradient)) : std::move(gradient);
}

inline void add_to_slot(NodeState& state, std::uint32_t slot, Tensor&& gradient) {
  if (!gradient.defined()) return;
  if (state.inputs.empty()) {
    if (state.node->slot_count() == 1) [[likely]]
      return state.inputs.push_back(std::move(gradient));
    fill_up(*state.node, state.inputs);
  }
  add_to_sum(state.inputs[slot], std::move(gradient));
}

// The state of the edge's node, if it waits for deliveries; null if it takes no part.
inline NodeState* receiver(const GraphTask& task, const Node& from, const Edge& edge) {
  NodeState* next = task.states.find(*edge.node);
  if (next && next->takes_part()) {
    if (next->missing == 0) throw_unexpected(from, *edge.node);
    return next;
  }
  if (!next && !task.is_pruned) throw_unexpected(from, *edge.node);
  return nullptr;
}

inline void deliver_local(GraphTask& task, const Node& node, Gradients& outputs,
                          ReadyQueue& queue) {
  Tensor* output = outputs.data();
  for (const Edge& edge : node.next_edges()) {
    Tensor& gradient = *output++;
    NodeState* next = edge ? receiver(task, node, edge) : nullptr;
    if (!next) continue;
    add_to_slot(*next, edge.slot, std::move(gradient));
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
    add_to_sum(sums[delivery.slot], std::move(delivery.gradient));
  }
  return sums;
}

// ---- One node ----------------------------------------------------------------------------------

[[gnu::noinline]] void materialise_inputs(const Node& node, Gradients& inputs) {
  for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) {
    const InputMetadata& metadata = node.slot(slot);
    if (!inputs[slot].defined()) {
      inputs[slot] = zeros(metadata.shape, metadata.type, metadata.device());
    }
  }
}

[[gnu::noinline]] void make_output_fit(const Node& node, const Edge& edge, Tensor& output,
                                       std::size_t index) {
  auto mismatch = fit(edge.node->slot(edge.slot), output, node.strict_validation());
  if (mismatch) throw_bad_output(node, index, *mismatch);
}

inline void validate_outputs(const Node& node, Gradients& outputs) {
  const Edges& edges = node.next_edges();
  if (outputs.size() != edges.size()) throw_bad_count(node, outputs.size());
  Tensor* output = outputs.data();
  for (const Edge& edge : edges) {
    if (edge && !fits(edge.node->slot(edge.slot), *output)) {
      make_output_fit(node, edge, *output, static_cast<std::size_t>(output - outputs.data()));
    }
    ++output;
  }
}

// (ANOM-1)
[[gnu::noinline]] void check_nan(const Node& node, const Gradients& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined() || !kernels::has_nan(outputs[i])) continue;
    throw Error(ErrorCategory::nan_gradient, "node " + node.name() +
                                                 " returned NaN in its output " +
                                                 std::to_string(i) + "\n" + describe_origin(node));
  }
}

// Tells what the post hooks will be shown as the node's inputs. One that is added while the node
// runs finds nothing: nobody kept it (HOOK-5).
[[gnu::noinline]] void prepare_with_hooks(const Node& node, Gradients& inputs,
                                          Gradients& kept_inputs) {
  run_pre_hooks(node, *node.hooks(), inputs);
  if (node.materialise()) materialise_inputs(node, inputs);
  if (!node.hooks()->post.empty()) kept_inputs = inputs;
}

bool any_defined(const Gradients& gradients) {
  return std::any_of(gradients.begin(), gradients.end(),
                     [](const Tensor& gradient) { return gradient.defined(); });
}

// What comes before the node itself, also where it is only captured.
inline void receive(GraphTask& task, const NodeState& state, Gradients& inputs) {
  const Node& node = *state.node;
  if (inputs.size() != node.slot_count()) fill_up(node, inputs);
  if (node.hooks()) run_slot_hooks(node, *node.hooks(), inputs);
  if (state.capture != 0) run_captures(task, state, inputs);
}

// The node itself; what it returns is ready to be delivered.
inline Gradients evaluate(const GraphTask& task, Node& node, Gradients& inputs) {
  Gradients kept_inputs;
  if (node.hooks()) {
    prepare_with_hooks(node, inputs, kept_inputs);
  } else if (node.materialise()) {
    materialise_inputs(node, inputs);
  }
  Gradients outputs = node.apply(std::move(inputs));
  validate_outputs(node, outputs);
  if (node.hooks()) run_post_hooks(node, *node.hooks(), outputs, kept_inputs);
  if (!task.options.keep_graph) node.release_saved();
  if (task.anomaly.checks_nan) check_nan(node, outputs);
  return outputs;
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
  receive(task, state, *inputs);
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
  receive(task, state, inputs);
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

// For the handler of an exception. An exception of the user's own can be traced back, and still
// arrives as it is (ERR-1).
[[gnu::noinline]] void take_error(GraphTask& task, const Node& node) {
  if (task.anomaly.is_enabled) std::fputs(describe_origin(node).c_str(), stderr);
  task.set_error(std::current_exception());
}

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
    add_to_slot(*state, root.slot, std::move(seed));
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

// One node of a pass: from what arrived at it to what it returns. The same for a pass that is
// served from a ready queue (node_run.h) and for one that is replayed (compiled/replay.h), so that
// both have one order of hooks, one validation and one set of messages (HOOK-1, VAL, COMP-1).
//
// Note [Rare work stays out of line]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// Most nodes have no hooks, are not captured and fail nothing, and for them a run is a few hundred
// instructions. What the others need is a function in node_evaluation.cpp: inlined, it would cost
// every node its stack frame and the saving of registers.
#pragma once

#include "reference_engine/engine/graph_task.h"
#include "reference_engine/engine/validation.h"
#include "reference_engine/graph/node_hooks.h"

namespace gradcts::reference {

namespace detail {
[[noreturn]] void throw_bad_count(const Node& node, std::size_t count);
[[noreturn]] void throw_unexpected(const Node& from, const Node& to);
void make_output_fit(const Node& node, const Edge& edge, Tensor& output, std::size_t index);
void add_to_sum(Tensor& sum, Tensor&& gradient);
void fill_up(const Node& node, Gradients& inputs);
void materialise_inputs(const Node& node, Gradients& inputs);
void run_slot_hooks(const Node& node, const NodeHooks& hooks, Gradients& inputs);
void run_captures(GraphTask& task, const Node& node, std::uint32_t first_capture,
                  const Gradients& inputs);
void prepare_with_hooks(const Node& node, Gradients& inputs, Gradients& kept_inputs);
void run_post_hooks(const Node& node, const NodeHooks& hooks, Gradients& outputs,
                    const Gradients& inputs);
void check_nan(const Node& node, const Gradients& outputs);
}  // namespace detail

// A gradient arrives at a slot. `inputs` are the sums so far: empty, or one a slot.
inline void add_to_slot(const Node& node, Gradients& inputs, std::uint32_t slot,
                        Tensor&& gradient) {
  if (!gradient.defined()) return;
  if (inputs.empty()) {
    if (node.slot_count() == 1) [[likely]]
      return inputs.push_back(std::move(gradient));
    detail::fill_up(node, inputs);
  }
  detail::add_to_sum(inputs[slot], std::move(gradient));
}

// What comes before the node itself, also where it is only captured. `first_capture` as in
// NodeState.
inline void receive(GraphTask& task, const Node& node, std::uint32_t first_capture,
                    Gradients& inputs) {
  if (inputs.size() != node.slot_count()) detail::fill_up(node, inputs);
  if (node.hooks()) detail::run_slot_hooks(node, *node.hooks(), inputs);
  if (first_capture != 0) detail::run_captures(task, node, first_capture, inputs);
}

inline void validate_outputs(const Node& node, Gradients& outputs) {
  const Edges& edges = node.next_edges();
  if (outputs.size() != edges.size()) detail::throw_bad_count(node, outputs.size());
  Tensor* output = outputs.data();
  for (const Edge& edge : edges) {
    if (edge && !fits(edge.node->slot(edge.slot), *output)) {
      detail::make_output_fit(node, edge, *output,
                              static_cast<std::size_t>(output - outputs.data()));
    }
    ++output;
  }
}

// The node itself; what it returns is ready to be delivered.
inline Gradients evaluate(const GraphTask& task, Node& node, Gradients& inputs) {
  Gradients kept_inputs;
  if (node.hooks()) {
    detail::prepare_with_hooks(node, inputs, kept_inputs);
  } else if (node.materialise()) {
    detail::materialise_inputs(node, inputs);
  }
  Gradients outputs = node.apply(std::move(inputs));
  validate_outputs(node, outputs);
  if (node.hooks()) detail::run_post_hooks(node, *node.hooks(), outputs, kept_inputs);
  if (!task.options.keep_graph) node.release_saved();
  if (task.anomaly.checks_nan) detail::check_nan(node, outputs);
  return outputs;
}

// The stream's work is part of what the caller waits for (STREAM-5). Nothing for the CPU.
void note_written(GraphTask& task, Stream stream);

// For the handler of an exception of a node: it becomes the error of the pass. An exception of the
// user's own can be traced back, and still arrives as it is (ERR-1).
void take_error(GraphTask& task, const Node& node);

}  // namespace gradcts::reference

#include "reference_engine/engine/node_evaluation.h"

#include <algorithm>
#include <cstdio>

#include "reference_engine/graph/accumulation.h"
#include "reference_engine/graph/operations.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {
namespace {

// ---- Errors ------------------------------------------------------------------------------------

[[noreturn]] void throw_bad_output(const Node& node, std::size_t index, const Mismatch& mismatch) {
  throw Error(mismatch.category, "node " + node.name() + " returned an invalid gradient at index " +
                                     std::to_string(index) + ": " + mismatch.message);
}

[[noreturn]] void throw_bad_hook(const std::string& hook, const Node& node,
                                 const std::string& what) {
  throw Error(ErrorCategory::hook_result,
              hook + " of node " + node.name() + " returned an invalid result: " + what);
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
    if (!result || !result->defined()) return;
    check_hook_result(node, node.slot(slot), *result, hook_name("tensor hook", number), slot);
    gradient = std::move(*result);
  });
}

// Adds to the `.grad` of a tensor that is no leaf, without taking anything over: the gradient flows
// on.
// The first gradient is copied: it flows on, and may be a seed that the program has too. That one
// may even be the tensor whose gradient is kept, which then would hold itself alive (LIFE-1).
void keep_gradient(GradientCell& cell, const Tensor& gradient) {
  if (!gradient.defined()) return;
  cell.update([&](const Tensor& current) {
    return current.defined() ? accumulate(current, gradient) : clone(gradient);
  });
}

void run_pre_hooks(const Node& node, const NodeHooks& hooks, Gradients& inputs) {
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

// ---- Captures ----------------------------------------------------------------------------------

Tensor run_capture_hooks(const PlannedCapture& capture, const Node& node, Tensor gradient) {
  for (std::size_t i = 0; i < capture.hooks.size(); ++i) {
    std::optional<Tensor> result = capture.hooks[i](gradient);
    if (!result || !result->defined()) continue;
    check_hook_result(node, node.slot(capture.slot), *result,
                      hook_name("capture hook", static_cast<std::int64_t>(i)), capture.slot);
    gradient = std::move(*result);
  }
  return gradient;
}

}  // namespace

void note_written(GraphTask& task, Stream stream) {
  if (stream.device.is_cpu()) return;
  LockGuard lock(task.mutex);
  auto& streams = task.written_streams;
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
}

void take_error(GraphTask& task, const Node& node) {
  if (task.anomaly.is_enabled) std::fputs(describe_origin(node).c_str(), stderr);
  task.set_error(std::current_exception());
}

namespace detail {

void throw_bad_count(const Node& node, std::size_t count) {
  throw Error(ErrorCategory::gradient_count,
              "node " + node.name() + " returned an invalid number of gradients: expected " +
                  std::to_string(node.next_edges().size()) + " but got " + std::to_string(count));
}

// A delivery that was not counted on: the graph was changed during the pass, or the engine is
// wrong.
void throw_unexpected(const Node& from, const Node& to) {
  throw Error(ErrorCategory::incomplete_pass, "node " + from.name() + " delivered to node " +
                                                  to.name() + ", which did not wait for it");
}

void make_output_fit(const Node& node, const Edge& edge, Tensor& output, std::size_t index) {
  auto mismatch = fit(edge.node->slot(edge.slot), output, node.strict_validation());
  if (mismatch) throw_bad_output(node, index, *mismatch);
}

void add_to_sum(Tensor& sum, Tensor&& gradient) {
  sum = sum.defined() ? accumulate(std::move(sum), std::move(gradient)) : std::move(gradient);
}

void fill_up(const Node& node, Gradients& inputs) {
  inputs.resize(node.slot_count());
}

void materialise_inputs(const Node& node, Gradients& inputs) {
  for (std::uint32_t slot = 0; slot < inputs.size(); ++slot) {
    const InputMetadata& metadata = node.slot(slot);
    if (!inputs[slot].defined()) {
      inputs[slot] = zeros(metadata.shape, metadata.type, metadata.device());
    }
  }
}

void run_slot_hooks(const Node& node, const NodeHooks& hooks, Gradients& inputs) {
  for (std::uint32_t slot = 0; slot < node.slot_count(); ++slot) {
    const std::shared_ptr<SlotHooks> slot_hooks = hooks.slot(slot);
    if (!slot_hooks) continue;
    run_tensor_hooks(node, slot, *slot_hooks, inputs[slot]);
    for (const auto& cell : hooks.retained(*slot_hooks)) keep_gradient(*cell, inputs[slot]);
  }
}

void run_captures(GraphTask& task, const Node& node, std::uint32_t first_capture,
                  const Gradients& inputs) {
  for (std::uint32_t next = first_capture; next != 0;) {
    const PlannedCapture& capture = task.captures[next - 1];
    next = capture.next;
    const Tensor& gradient = inputs[capture.slot];
    if (gradient.defined()) note_written(task, node.slot(capture.slot).stream);
    if (capture.accumulate_into) {
      keep_gradient(*capture.accumulate_into, gradient);
    } else {
      task.results[capture.result] = run_capture_hooks(capture, node, gradient);
    }
  }
}

// Tells what the post hooks will be shown as the node's inputs. One that is added while the node
// runs finds nothing: nobody kept it (HOOK-5).
void prepare_with_hooks(const Node& node, Gradients& inputs, Gradients& kept_inputs) {
  run_pre_hooks(node, *node.hooks(), inputs);
  if (node.materialise()) materialise_inputs(node, inputs);
  if (!node.hooks()->post.empty()) kept_inputs = inputs;
}

void run_post_hooks(const Node& node, const NodeHooks& hooks, Gradients& outputs,
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

// (ANOM-1)
void check_nan(const Node& node, const Gradients& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].defined() || !kernels::has_nan(outputs[i])) continue;
    throw Error(ErrorCategory::nan_gradient, "node " + node.name() +
                                                 " returned NaN in its output " +
                                                 std::to_string(i) + "\n" + describe_origin(node));
  }
}

}  // namespace detail
}  // namespace gradcts::reference

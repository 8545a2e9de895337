// Autograd's view of a tensor: does it require grad, which node produced it, its `.grad`, its
// hooks.
//
// Thread safety: one tensor's flags are changed by one thread at a time; hooks, `.grad` and the
// accumulator of a leaf may be reached from several.
#pragma once

#include <initializer_list>

#include "reference_engine/graph/node.h"

namespace gradcts::reference {

// ---- Leaves ------------------------------------------------------------------------------------

// A tensor requires grad if it is a leaf that was told so, or if a node produced it.
bool requires_grad(const Tensor& tensor);

// Leaves only; a type that has no gradient is Error(not_differentiable), another tensor
// Error(invalid_argument).
void set_requires_grad(const Tensor& tensor, bool requires_grad);

// A tensor that no node produced.
bool is_leaf(const Tensor& tensor);

// `.grad`: undefined until something was accumulated, retained or set. A gradient that the user
// sets is added to like any other (LEAF-2).
Tensor gradient(const Tensor& tensor);
void set_gradient(const Tensor& tensor, Tensor gradient);

// Makes the leaf look at the elements of another tensor of the same shape, type, device and layout.
// Its accumulator and its hooks stay (B047).
void set_elements(const Tensor& leaf, const Tensor& elements);

// ---- The graph ---------------------------------------------------------------------------------

// Where a gradient of the tensor goes: a slot of the node that produced it, or of a leaf's
// accumulator. Null for a tensor that does not require grad.
Edge gradient_edge(const Tensor& tensor);

// One edge a tensor, null for undefined ones and those that do not require grad.
Edges gradient_edges(std::initializer_list<Tensor> tensors);
Edges gradient_edges(absl::Span<const Tensor> tensors);

// The node that produced the tensor; null for a leaf.
NodePointer producer(const Tensor& tensor);

// The accumulator of a leaf that requires grad; made on first use and as long-lived as the leaf.
NodePointer accumulator(const Tensor& leaf);

// Attaches a node to an output of its forward step, in a new slot whose number is returned. The
// tensor must be fresh: no view, and without history.
std::uint32_t record_history(const Tensor& output, const NodePointer& node);

// Would an operation on these be recorded now?
bool is_recorded(std::initializer_list<Tensor> inputs);
bool is_recorded(absl::Span<const Tensor> inputs);

// ---- Hooks -------------------------------------------------------------------------------------

// The hook belongs to the tensor as it is now: after an in-place change it stays with the version
// that it was registered on (HOOK-6). The tensor must require grad.
HookHandle add_tensor_hook(const Tensor& tensor, TensorHook hook);

// Leaves only (B053).
HookHandle add_post_accumulate_hook(const Tensor& leaf, PostAccumulateHook hook);

// Keeps the gradient of a tensor that is no leaf in its `.grad`. Runs as the last of the tensor
// hooks, adds up over passes, and follows the tensor through in-place changes (HOOK-1, HOOK-6).
void retain_grad(const Tensor& tensor);
bool retains_grad(const Tensor& tensor);

}  // namespace gradcts::reference

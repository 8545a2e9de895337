#include "reference_engine/graph/autograd.h"

#include <utility>

#include "reference_engine/error.h"
#include "reference_engine/graph/autograd_state.h"
#include "reference_engine/graph/in_place.h"
#include "reference_engine/graph/leaf_accumulator.h"
#include "reference_engine/graph/node_hooks.h"
#include "reference_engine/graph/recording.h"

namespace gradcts::reference {
namespace {

[[noreturn]] void invalid(const std::string& message) {
  throw Error(ErrorCategory::invalid_argument, message);
}

void check_fits(const Tensor& tensor, const Tensor& other, const char* what) {
  if (other.shape() == tensor.shape() && other.type() == tensor.type() &&
      other.device() == tensor.device()) {
    return;
  }
  invalid(std::string(what) + " of " + describe(tensor) + " cannot be " + describe(other));
}

}  // namespace

// ---- State -------------------------------------------------------------------------------------

AutogradState::~AutogradState() {
  delete accumulator.load(std::memory_order_acquire);
}

GradientCellPointer AutogradState::cell() {
  LockGuard lock(mutex_);
  if (!cell_) cell_ = std::make_shared<GradientCell>();
  return cell_;
}

AutogradState& make_autograd_state(const Tensor& tensor) {
  if (!autograd_state(tensor)) tensor.impl()->set_autograd(std::make_unique<AutogradState>());
  return *autograd_state(tensor);
}

void replace_producer(const Tensor& tensor, Edge producer) {
  AutogradState& state = make_autograd_state(tensor);
  if (state.retains_grad) {
    if (state.producer) {
      state.producer.node->make_hooks().stop_retaining(state.producer.slot, state.cell());
    }
    producer.node->make_hooks().retain(producer.slot, state.cell());
  }
  state.producer = std::move(producer);
  ++state.history;
}

void record_view(const Tensor& view, const Tensor& of, const ViewStep& step) {
  const AutogradState* origin = autograd_state(of);
  auto info = std::make_unique<ViewOrigin>();
  if (origin && origin->view) {
    *info = *origin->view;
  } else {
    info->base = of;
  }
  info->steps.push_back(step);
  info->history = make_autograd_state(info->base).history;
  make_autograd_state(view).view = std::move(info);
}

// A view whose base was changed in place since gets a new producer, which follows the new history.
Edge view_edge(const Tensor& tensor, AutogradState& state) {
  Edge old;  // let go after the lock: it may own users' objects (LIFE-2)
  LockGuard lock(state.mutex_);
  const std::uint32_t history = make_autograd_state(state.view->base).history;
  if (state.view->history != history) {
    state.view->history = history;
    Edge producer = edge_through_base(tensor, *state.view);
    if (producer && state.retains_grad && state.cell_) {
      if (state.producer) {
        state.producer.node->make_hooks().stop_retaining(state.producer.slot, state.cell_);
      }
      producer.node->make_hooks().retain(producer.slot, state.cell_);
    }
    old = std::exchange(state.producer, std::move(producer));
  }
  return state.producer;
}

// ---- Leaves ------------------------------------------------------------------------------------

bool requires_grad(const Tensor& tensor) {
  AutogradState* state = tensor.defined() ? autograd_state(tensor) : nullptr;
  if (!state) return false;
  if (state->view) return state->requires_grad || view_edge(tensor, *state);
  return state->requires_grad || state->producer;
}

void set_requires_grad(const Tensor& tensor, bool requires_grad) {
  if (!is_leaf(tensor)) {
    invalid("requires_grad belongs to leaves; this tensor was produced by " +
            producer(tensor)->name());
  }
  if (requires_grad && !is_differentiable(tensor.type())) {
    throw Error(ErrorCategory::not_differentiable,
                "a tensor of type " + to_string(tensor.type()) + " cannot require grad");
  }
  make_autograd_state(tensor).requires_grad = requires_grad;
}

bool is_leaf(const Tensor& tensor) {
  return !producer(tensor);
}

Tensor gradient(const Tensor& tensor) {
  AutogradState* state = autograd_state(tensor);
  return state ? state->cell()->get() : Tensor();
}

void set_gradient(const Tensor& tensor, Tensor gradient) {
  if (gradient.defined()) check_fits(tensor, gradient, "the gradient");
  make_autograd_state(tensor).cell()->set(std::move(gradient));
}

void set_elements(const Tensor& leaf, const Tensor& elements) {
  check_fits(leaf, elements, "the elements");
  if (leaf.layout() != elements.layout() || !is_leaf(leaf)) {
    invalid("only a leaf can be given other elements, and of its own layout");
  }
  leaf.impl()->replace_elements(*elements.impl());
}

// ---- The graph ---------------------------------------------------------------------------------

Edge gradient_edge(const Tensor& tensor) {
  AutogradState* state = tensor.defined() ? autograd_state(tensor) : nullptr;
  if (!state) return {};
  Edge edge = state->view ? view_edge(tensor, *state) : state->producer;
  if (edge) return edge;
  if (!state->requires_grad) return {};
  return {accumulator(tensor), 0};
}

Edges gradient_edges(absl::Span<const Tensor> tensors) {
  Edges edges;
  for (const Tensor& tensor : tensors) edges.push_back(gradient_edge(tensor));
  return edges;
}

Edges gradient_edges(std::initializer_list<Tensor> tensors) {
  return gradient_edges(absl::Span<const Tensor>(tensors.begin(), tensors.size()));
}

NodePointer producer(const Tensor& tensor) {
  AutogradState* state = autograd_state(tensor);
  if (!state) return nullptr;
  return state->view ? view_edge(tensor, *state).node : state->producer.node;
}

NodePointer accumulator(const Tensor& leaf) {
  AutogradState* state = autograd_state(leaf);
  if (!state || !state->requires_grad) {
    invalid("only a leaf that requires grad has an accumulator");
  }
  LeafAccumulator* found = state->accumulator.load(std::memory_order_acquire);
  if (!found) {
    auto made = std::make_unique<LeafAccumulator>(leaf);
    if (state->accumulator.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) {
      found = made.release();
    }
  }
  return NodePointer(found);
}

std::uint32_t record_history(const Tensor& output, const NodePointer& node) {
  if (!is_differentiable(output.type())) {
    throw Error(ErrorCategory::not_differentiable,
                "an output of type " + to_string(output.type()) + " has no gradient");
  }
  AutogradState& state = make_autograd_state(output);
  if (state.producer || state.requires_grad) invalid("the output has a history already");
  const std::uint32_t slot = node->add_slot(InputMetadata(output));
  state.producer = {node, slot};
  return slot;
}

bool is_recorded(absl::Span<const Tensor> inputs) {
  if (!is_recording()) return false;
  for (const Tensor& input : inputs) {
    if (requires_grad(input)) return true;
  }
  return false;
}

bool is_recorded(std::initializer_list<Tensor> inputs) {
  return is_recorded(absl::Span<const Tensor>(inputs.begin(), inputs.size()));
}

// ---- Hooks -------------------------------------------------------------------------------------

HookHandle add_tensor_hook(const Tensor& tensor, TensorHook hook) {
  const Edge edge = gradient_edge(tensor);
  if (!edge) invalid("a hook on a tensor that does not require grad");
  return edge.node->add_tensor_hook(edge.slot, std::move(hook));
}

HookHandle add_post_accumulate_hook(const Tensor& leaf, PostAccumulateHook hook) {
  if (!is_leaf(leaf)) invalid("post-accumulate hooks belong to leaves");
  return accumulator(leaf)->make_hooks().post_accumulate.add(std::move(hook));
}

void retain_grad(const Tensor& tensor) {
  const Edge edge = gradient_edge(tensor);
  if (!edge) invalid("a tensor that does not require grad has no gradient to retain");
  AutogradState& state = *autograd_state(tensor);
  if (is_leaf(tensor) || state.retains_grad) return;  // a leaf's gradient is kept anyway
  state.retains_grad = true;
  edge.node->make_hooks().retain(edge.slot, state.cell());
}

bool retains_grad(const Tensor& tensor) {
  const AutogradState* state = autograd_state(tensor);
  return state && state->retains_grad;
}

}  // namespace gradcts::reference

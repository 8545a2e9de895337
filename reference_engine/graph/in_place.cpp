#include "reference_engine/graph/in_place.h"

#include "reference_engine/error.h"
#include "reference_engine/graph/operation.h"
#include "reference_engine/graph/operations.h"
#include "reference_engine/graph/recording.h"
#include "reference_engine/graph/view_operations.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {
namespace {

[[noreturn]] void invalid(const std::string& message) {
  throw Error(ErrorCategory::invalid_argument, message);
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorCategory::in_place, message);
}

// See Note [In-place changes]. The first edge is the base's as it was, the others are those that
// the operation has besides that of the view.
class InPlaceOnView final : public Node, private Operation::Whole {
 public:
  InPlaceOnView(const ViewOrigin& origin, OperationPointer operation)
      : steps_(origin.steps), operation_(std::move(operation)) {
    Edges edges = operation_->next_edges();
    edges[0] = gradient_edge(origin.base);
    set_next_edges(std::move(edges));
    add_slot(InputMetadata(origin.base));
    operation_->set_whole(this);
  }
  ~InPlaceOnView() override { operation_->set_whole(nullptr); }

  std::string name() const override { return "InPlaceOnView"; }
  void release_saved() override { operation_->release_saved(); }

  Gradients apply(Gradients&& gradients) override {
    if (!gradients[0].defined()) return operation_->apply(std::move(gradients));  // its errors
    const Tensor whole = to_dense(gradients[0]);
    Gradients part;
    part.push_back(view_of(whole, steps_));
    Gradients results = operation_->apply(std::move(part));
    if (next_edges()[0]) results[0] = replace_part(whole, steps_, part_or_zeros(results[0]));
    return results;
  }

 private:
  Edge place_of_part() override {
    return {make_view_node({NodePointer(this), 0}, operation_->slot(0), steps_), 0};
  }
  Tensor part_or_zeros(const Tensor& part) const {
    const InputMetadata& slot = operation_->slot(0);
    return part.defined() ? part : zeros(slot.shape, slot.type, slot.device());
  }

  const ViewSteps steps_;
  const OperationPointer operation_;
};

// The elements before the change, with their place in the graph.
Tensor value_before(const Tensor& a) {
  Tensor before = kernels::clone(a);
  const Edge edge = is_recording() ? gradient_edge(a) : Edge{};
  if (edge) make_autograd_state(before).producer = edge;
  return before;
}

}  // namespace

void check_changeable(const Tensor& a) {
  if (a.is_sparse()) invalid("in-place changes of sparse tensors");
  for (std::size_t i = 0; i < a.shape().size(); ++i) {
    if (a.shape()[i] > 1 && a.strides()[i] == 0) {
      refuse("an in-place change of an expanded tensor, whose elements share places");
    }
  }
  if (!is_recording()) return;
  const AutogradState* state = autograd_state(a);
  const Tensor& changed = state && state->view ? state->view->base : a;
  if (is_leaf(changed) && requires_grad(changed)) {
    refuse("an in-place change, while recording, of a leaf that requires grad");
  }
}

void adopt_history(const Tensor& a, const OperationPointer& operation) {
  const AutogradState* state = autograd_state(a);
  if (state && state->view) {
    replace_producer(state->view->base, {make_node<InPlaceOnView>(*state->view, operation), 0});
  } else {
    replace_producer(a, {operation, 0});
  }
}

void change_in_place(const Tensor& a, const std::function<Tensor(const Tensor&)>& function) {
  kernels::check_defined(a);
  check_changeable(a);
  const Tensor result = function(value_before(a));
  if (result.shape() != a.shape() || is_complex(result.type()) != is_complex(a.type())) {
    invalid("an in-place change of " + describe(a) + " to " + describe(result));
  }
  kernels::copy_(a, result);
  const NodePointer operation = producer(result);
  if (!operation) return;
  operation->set_slot(0, InputMetadata(a));  // the result may have been of a wider type
  adopt_history(a, OperationPointer(static_cast<Operation*>(operation.get())));
}

Edge edge_through_base(const Tensor& view, const ViewOrigin& origin) {
  const Edge base = gradient_edge(origin.base);
  if (!base) return {};
  return {make_view_node(base, InputMetadata(view), origin.steps), 0};
}

}  // namespace gradcts::reference

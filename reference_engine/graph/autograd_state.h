// What autograd keeps for one tensor. Internal: users see graph/autograd.h.
#pragma once

#include <memory>

#include "reference_engine/graph/gradient_cell.h"
#include "reference_engine/graph/node.h"
#include "reference_engine/graph/view.h"
#include "reference_engine/sync/mutex.h"

namespace gradcts::reference {

class LeafAccumulator;

// How a view came from its base: the base is never a view itself.
struct ViewOrigin {
  Tensor base;
  ViewSteps steps;
  // The base's history (AutogradState::history) that this view's producer belongs to.
  std::uint32_t history;
};

// Guards: `mutex` where two threads that only read the tensor may meet; the rest changes with the
// tensor, by one thread at a time.
class AutogradState : public AutogradSlot {
 public:
  ~AutogradState() override;

  bool requires_grad = false;  // as told; of a leaf
  bool retains_grad = false;
  std::uint32_t history = 0;  // how often the producer was replaced by in-place changes
  Edge producer;              // null for a leaf
  std::unique_ptr<ViewOrigin> view;

  // The place of `.grad`, made when first needed.
  GradientCellPointer cell();

  CountAtomic<LeafAccumulator*> accumulator{nullptr};

 private:
  friend Edge view_edge(const Tensor& tensor, AutogradState& state);

  Mutex mutex_;
  GradientCellPointer cell_ GRADCTS_GUARDED_BY(mutex_);
};

// Null where the tensor has none.
inline AutogradState* autograd_state(const Tensor& tensor) {
  return static_cast<AutogradState*>(tensor.impl()->autograd());
}
AutogradState& make_autograd_state(const Tensor& tensor);

// Attaches the node, in the slot, as the producer of a tensor that was changed in place; what is
// retained follows the tensor (HOOK-6).
void replace_producer(const Tensor& tensor, Edge producer);

// Marks a tensor as a view that one step makes of another one.
void record_view(const Tensor& view, const Tensor& of, const ViewStep& step);

}  // namespace gradcts::reference

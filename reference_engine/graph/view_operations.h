// Differentiable operations on the part of a tensor that a view sees; for the graph's own use.
#pragma once

#include "reference_engine/graph/node.h"
#include "reference_engine/graph/view.h"

namespace gradcts::reference {

// The part, through ordinary views.
Tensor view_of(const Tensor& whole, const ViewSteps& steps);

// Zeros of this shape and type, with `part` where the view looks.
Tensor embed(const Tensor& part, ShapeView shape, ScalarType type, const ViewSteps& steps);

// A copy of `whole` with `part` where the view looks.
Tensor replace_part(const Tensor& whole, const ViewSteps& steps, const Tensor& part);

// The node that takes a view's gradient to its base, for a view that was made before the base's
// history changed.
NodePointer make_view_node(const Edge& base, const InputMetadata& view, const ViewSteps& steps);

}  // namespace gradcts::reference

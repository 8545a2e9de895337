// In-place changes: what they do to the graph.
//
// Note [In-place changes]
// ~~~~~~~~~~~~~~~~~~~~~~~
// An in-place operation is its out-of-place form, computed from a copy of the old elements, whose
// result is then written over the old elements and whose node becomes the tensor's producer. So
// each operation has one backward, and what its node saved is never what the change overwrites.
// (Functions whose backward wants their own value save the changed tensor itself, so that a later
// change is noticed: from_value_() in arithmetic.cpp.)
//
// If the changed tensor is a view, its base has changed too:
//
//     before                      v.mul_(x)                       after
//
//     ┌ producer of base          base ─► InPlaceOnView ─┬► producer of base (as before)
//     base                                (holds Mul)    └► producer of x
//      └ v = base[0]              v    ─► View ─► InPlaceOnView
//
// What Mul saved of its own result stands in the graph where the view now does: behind
// InPlaceOnView.
//
// InPlaceOnView splits the gradient of the base: the part that the view sees goes through Mul, and
// comes back in its place. The view, and any other view of the base, gets a new producer when it is
// next asked for one, which leads through the base (view_edge in autograd.cpp).
#pragma once

#include <functional>

#include "reference_engine/graph/autograd_state.h"
#include "reference_engine/graph/operation.h"

namespace gradcts::reference {

// Changes `a` to function(a as it was), and the graph along with it. Throws Error(in_place) for a
// leaf that requires grad (while recording) and an expanded tensor, Error(invalid_argument) for a
// result of another shape.
void change_in_place(const Tensor& a, const std::function<Tensor(const Tensor& before)>& function);

// Makes the node of a change of `a`, which has one slot and whose first edge is that of `a` as it
// was, the producer of `a`, or a part of that of its base.
void adopt_history(const Tensor& a, const OperationPointer& operation);

// Throws where an in-place change of `a` is not allowed now.
void check_changeable(const Tensor& a);

// The edge of a view whose base has changed: through a new node to the base. Null if the base has
// none.
Edge edge_through_base(const Tensor& view, const ViewOrigin& origin);

}  // namespace gradcts::reference

// Views as plain data: how a view is made from its base, step by step.
//
// In-place changes of a view change its base. For the graph that means: given a gradient of the
// base, the part that the view sees is had by taking the same steps, and a base with that part
// replaced is had by taking them on a copy and writing through the result. So no step needs to be
// inverted, and any mix of views works. See Note [In-place changes] in in_place.h.
#pragma once

#include <cstdint>
#include <vector>

#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

struct ViewStep {
  enum class Kind : std::uint8_t {
    alias,
    reshape,
    expand,
    transpose,
    select,
    slice,
    as_real,     // a complex tensor as the parts of its elements
    as_complex,  // and the other way round
  };
  Kind kind;
  Shape numbers;  // the shape; or the dimensions; or dimension and index; or dimension, begin, end,
                  // step
};
using ViewSteps = std::vector<ViewStep>;

// The view, sharing the storage; without autograd. Throws Error(invalid_argument) for a step that
// does not fit, and for one that strides cannot express.
Tensor make_view(const Tensor& tensor, const ViewStep& step);
Tensor make_view(Tensor tensor, const ViewSteps& steps);

// Can the strides express the step? Only a reshape and pairs as complex numbers may fail; of a
// contiguous tensor every step is a view.
bool is_viewable(const Tensor& tensor, const ViewStep& step);

}  // namespace gradcts::reference

// Dimensions as arguments of operations: checked, and counted from the start.
#pragma once

#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

// Dimensions may be counted from the end, by negative numbers. Throws Error(invalid_argument) for
// one that the tensor does not have.
std::int64_t normal_dim(const Tensor& a, std::int64_t dim);
Shape normal_dims(const Tensor& a, ShapeView dims);
Shape all_dims(const Tensor& a);

// What was reduced over these dimensions of the shape, with them back as ones. Differentiable.
Tensor with_kept_dims(const Tensor& reduced, ShapeView shape, ShapeView dims);

}  // namespace gradcts::reference

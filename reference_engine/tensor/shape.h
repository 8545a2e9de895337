// Shapes and strides, counted in elements.
#pragma once

#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

namespace gradcts::reference {

using Shape = absl::InlinedVector<std::int64_t, 4>;
using Strides = Shape;
using ShapeView = absl::Span<const std::int64_t>;

std::int64_t element_count(ShapeView shape);
Strides contiguous_strides(ShapeView shape);

// Do the strides visit each of a dense block of elements exactly once?
bool is_dense_and_non_overlapping(ShapeView shape, ShapeView strides);

// Can a tensor of shape `from` be broadcast to shape `to`?
bool is_expandable_to(ShapeView from, ShapeView to);

// The shape in which two operands meet; throws Error(invalid_argument) where there is none.
Shape broadcast(ShapeView a, ShapeView b);

std::string to_string(ShapeView shape);  // "[2, 3]"

}  // namespace gradcts::reference

// Between strided elements and contiguous ones. The one place where kernels meet strides.
#pragma once

#include "reference_engine/tensor/operand.h"

namespace gradcts::reference {

// Writes the operand's elements, broadcast to the shape, to `to` in row-major order.
template <typename T>
void gather_elements(const Operand& from, ShapeView shape, T* to);

// Writes elements in row-major order to where the operand's strides say.
template <typename T>
void scatter_elements(const T* from, const Operand& to);

}  // namespace gradcts::reference

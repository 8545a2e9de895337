// The gradients that flow into or out of a node, one a slot or edge; undefined ones are "none".
#pragma once

#include "absl/container/inlined_vector.h"
#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

using Gradients = absl::InlinedVector<Tensor, 2>;

}  // namespace gradcts::reference

// Which leaves do outputs not lead to?
#pragma once

#include <vector>

#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

// For each leaf, whether a pass from the outputs would not come to its accumulator. Each node is
// looked at once, on a bounded stack.
std::vector<bool> unreached_leaves(absl::Span<const Tensor> outputs,
                                   absl::Span<const Tensor> leaves);

}  // namespace gradcts::reference

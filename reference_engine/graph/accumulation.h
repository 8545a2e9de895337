// Sums of gradients, dense and sparse in every mix (ACC-1 to ACC-4).
#pragma once

#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

// sum + term, both defined. With recording on, a recorded sum. Otherwise it may be computed in
// place in either operand, if nobody else can see that one (ACC-2); the numbers are the same, since
// a sum of two does not depend on their order. Sparse + sparse stays sparse, a mix becomes dense
// (ACC-3).
Tensor accumulate(Tensor sum, Tensor term);

// What a leaf's `.grad` becomes when `term` arrives (LEAF-1, LEAF-2, LEAF-4, LEAF-5). `gradient`
// may be undefined; `term` is not. What is not taken over is left to the caller, to let go of it
// where no lock is held: it may own a graph (LIFE-2).
Tensor accumulate_into_leaf(const Tensor& leaf, Tensor gradient, Tensor&& term);

}  // namespace gradcts::reference

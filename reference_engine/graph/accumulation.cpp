#include "reference_engine/graph/accumulation.h"

#include "reference_engine/graph/operations.h"
#include "reference_engine/graph/recording.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {
namespace {

// Dense, and each element at a place of its own: an expanded tensor is not.
bool is_dense(const Tensor& tensor) {
  return !tensor.is_sparse() &&
         (tensor.is_contiguous() || is_dense_and_non_overlapping(tensor.shape(), tensor.strides()));
}

bool takes_same_layout(const Tensor& leaf, const Tensor& gradient) {
  if (is_dense_and_non_overlapping(leaf.shape(), leaf.strides())) {
    return gradient.strides() == leaf.strides() ||
           (leaf.is_contiguous() && gradient.is_contiguous());
  }
  return gradient.is_contiguous();
}

// A leaf's first gradient.
Tensor adopt(const Tensor& leaf, Tensor&& term) {
  if (is_recording()) return clone(term);
  if (term.is_sparse() || leaf.is_sparse()) {
    return term.is_unshared() ? std::move(term) : kernels::clone(term);
  }
  if (takes_same_layout(leaf, term) && term.is_unshared()) return Tensor(std::move(term));
  if (is_dense_and_non_overlapping(leaf.shape(), leaf.strides())) {
    return kernels::clone_strided(term, leaf.strides());
  }
  return kernels::clone(term);
}

}  // namespace

Tensor accumulate(Tensor sum, Tensor term) {
  if (is_recording()) return add(sum, term);
  if (sum.is_unshared() && is_dense(sum)) {
    kernels::add_(sum, term);
    return sum;
  }
  if (term.is_unshared() && is_dense(term)) {
    kernels::add_(term, sum);
    return term;
  }
  return kernels::add(sum, term);
}

Tensor accumulate_into_leaf(const Tensor& leaf, Tensor gradient, Tensor&& term) {
  if (!gradient.defined()) return adopt(leaf, std::move(term));
  if (is_recording()) return add(gradient, term);
  if (!is_dense(gradient)) return kernels::add(gradient, term);
  kernels::add_(gradient, term);
  return gradient;
}

}  // namespace gradcts::reference

#include "reference_engine/graph/dimensions.h"

#include <numeric>

#include "reference_engine/error.h"
#include "reference_engine/graph/operations.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {

std::int64_t normal_dim(const Tensor& a, std::int64_t dim) {
  kernels::check_defined(a);
  const std::int64_t normal = dim < 0 ? dim + a.dim() : dim;
  if (normal < 0 || normal >= a.dim()) {
    throw Error(ErrorCategory::invalid_argument,
                "dimension " + std::to_string(dim) + " of " + describe(a));
  }
  return normal;
}

Shape normal_dims(const Tensor& a, ShapeView dims) {
  Shape result;
  for (std::int64_t dim : dims) result.push_back(normal_dim(a, dim));
  return result;
}

Shape all_dims(const Tensor& a) {
  kernels::check_defined(a);
  Shape dims(a.shape().size());
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

Tensor with_kept_dims(const Tensor& reduced, ShapeView shape, ShapeView dims) {
  Shape kept(shape.begin(), shape.end());
  for (std::int64_t dim : dims) kept[static_cast<std::size_t>(dim)] = 1;
  return reshape(reduced, kept);
}

}  // namespace gradcts::reference

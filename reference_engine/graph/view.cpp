#include "reference_engine/graph/view.h"

#include <algorithm>

#include "reference_engine/error.h"

namespace gradcts::reference {
namespace {

// Strides with which the elements appear in the new shape; false where there are none. Dimensions
// of the old shape that lie one behind the other form blocks; each block must be divided up
// exactly.
bool reshaped_strides(const Tensor& tensor, ShapeView shape, Strides& result) {
  result.assign(shape.size(), 1);
  if (tensor.element_count() == 0 || tensor.is_contiguous()) {
    result = contiguous_strides(shape);
    return true;
  }
  auto next = static_cast<std::ptrdiff_t>(shape.size()) - 1;
  std::int64_t block_stride = 1;
  std::int64_t block = 1;
  std::int64_t filled = 1;
  const auto& sizes = tensor.shape();
  const auto& strides = tensor.strides();
  for (auto dim = static_cast<std::ptrdiff_t>(sizes.size()) - 1; dim >= 0; --dim) {
    const auto d = static_cast<std::size_t>(dim);
    if (block == 1) block_stride = strides[d];
    block *= sizes[d];
    const bool block_ends =
        dim == 0 || (sizes[d - 1] != 1 && strides[d - 1] != block * block_stride);
    if (!block_ends) continue;
    for (; next >= 0 && (filled < block || shape[static_cast<std::size_t>(next)] == 1); --next) {
      result[static_cast<std::size_t>(next)] = filled * block_stride;
      filled *= shape[static_cast<std::size_t>(next)];
    }
    if (filled != block) return false;
    block = filled = 1;
  }
  return next < 0;
}

Tensor reshaped(const Tensor& tensor, ShapeView shape) {
  Strides strides;
  if (element_count(shape) == tensor.element_count() && reshaped_strides(tensor, shape, strides)) {
    return as_strided(tensor, shape, strides, tensor.offset());
  }
  throw Error(ErrorCategory::invalid_argument,
              describe(tensor) + " has no view of shape " + to_string(shape));
}

Tensor expanded(const Tensor& tensor, ShapeView shape) {
  if (!is_expandable_to(tensor.shape(), shape)) {
    throw Error(ErrorCategory::invalid_argument,
                describe(tensor) + " cannot be expanded to " + to_string(shape));
  }
  Strides strides(shape.size(), 0);
  const std::size_t lead = shape.size() - tensor.shape().size();
  for (std::size_t i = 0; i < tensor.shape().size(); ++i) {
    if (tensor.shape()[i] == shape[lead + i]) strides[lead + i] = tensor.strides()[i];
  }
  return as_strided(tensor, shape, strides, tensor.offset());
}

Tensor transposed(const Tensor& tensor, std::size_t dim0, std::size_t dim1) {
  Shape shape = tensor.shape();
  Strides strides = tensor.strides();
  std::swap(shape[dim0], shape[dim1]);
  std::swap(strides[dim0], strides[dim1]);
  return as_strided(tensor, shape, strides, tensor.offset());
}

Tensor selected(const Tensor& tensor, std::size_t dim, std::int64_t index) {
  Shape shape = tensor.shape();
  Strides strides = tensor.strides();
  const std::int64_t offset = tensor.offset() + index * strides[dim];
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(dim));
  strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(dim));
  return as_strided(tensor, shape, strides, offset);
}

Tensor sliced(const Tensor& tensor, std::size_t dim, std::int64_t begin, std::int64_t end,
              std::int64_t step) {
  Shape shape = tensor.shape();
  Strides strides = tensor.strides();
  const std::int64_t offset = tensor.offset() + begin * strides[dim];
  shape[dim] = std::max<std::int64_t>(0, (end - begin + step - 1) / step);
  strides[dim] *= step;
  return as_strided(tensor, shape, strides, offset);
}

}  // namespace

bool is_viewable(const Tensor& tensor, const ViewStep& step) {
  if (step.kind == ViewStep::Kind::as_complex) return has_pairs(tensor);
  Strides strides;
  return step.kind != ViewStep::Kind::reshape || reshaped_strides(tensor, step.numbers, strides);
}

Tensor make_view(const Tensor& tensor, const ViewStep& step) {
  const auto& n = step.numbers;
  switch (step.kind) {
    case ViewStep::Kind::alias:
      return tensor.alias();
    case ViewStep::Kind::reshape:
      return reshaped(tensor, n);
    case ViewStep::Kind::expand:
      return expanded(tensor, n);
    case ViewStep::Kind::transpose:
      return transposed(tensor, static_cast<std::size_t>(n[0]), static_cast<std::size_t>(n[1]));
    case ViewStep::Kind::select:
      return selected(tensor, static_cast<std::size_t>(n[0]), n[1]);
    case ViewStep::Kind::slice:
      return sliced(tensor, static_cast<std::size_t>(n[0]), n[1], n[2], n[3]);
    case ViewStep::Kind::as_real:
      return as_real(tensor);
    case ViewStep::Kind::as_complex:
      return as_complex(tensor);
  }
  return tensor;
}

Tensor make_view(Tensor tensor, const ViewSteps& steps) {
  for (const ViewStep& step : steps) tensor = make_view(tensor, step);
  return tensor;
}

}  // namespace gradcts::reference

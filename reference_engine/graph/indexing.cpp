// Access by an index tensor. The gradient of what is read is added up where it was read
// (scatter_add), and that of what is added is read where it went (gather). Tested by
// indexing_test.cpp.
#include "reference_engine/error.h"
#include "reference_engine/graph/dimensions.h"
#include "reference_engine/graph/operation.h"
#include "reference_engine/graph/operations.h"
#include "reference_engine/graph/view_operations.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {
namespace {

[[noreturn]] void invalid(const std::string& message) {
  throw Error(ErrorCategory::invalid_argument, message);
}

Tensor zeros_like(const InputMetadata& input) {
  return zeros(input.shape, input.type, input.device());
}

// ---- Elements by their place along a dimension -------------------------------------------------

Gradients gather_backward(Operation& op, const Gradients& g) {
  const Tensor zero = zeros_like(op.input(0));
  return one(scatter_add(zero, op.parameters.numbers[0], op.saved(0), cast(g[0], zero.type())));
}
constexpr OperationKind gather_kind{"Gather", gather_backward};

// A source may be larger than the index: what lies beyond it has no part in the result.
Tensor beyond_index(const Tensor& gradient, const InputMetadata& source) {
  if (ShapeView(gradient.shape()) == ShapeView(source.shape)) return gradient;
  ViewSteps steps;
  for (std::int64_t d = 0; d < gradient.dim(); ++d) {
    const std::int64_t size = gradient.shape()[static_cast<std::size_t>(d)];
    steps.push_back({ViewStep::Kind::slice, {d, 0, size, 1}});
  }
  return embed(gradient, source.shape, gradient.type(), steps);
}

Gradients scatter_add_backward(Operation& op, const Gradients& g) {
  Gradients result(2);
  if (op.needs(0)) result[0] = g[0];
  if (op.needs(1)) {
    result[1] = beyond_index(gather(g[0], op.parameters.numbers[0], op.saved(0)), op.input(1));
  }
  return result;
}
constexpr OperationKind scatter_add_kind{"ScatterAdd", scatter_add_backward};

// ---- Parts and rows ----------------------------------------------------------------------------

// The index as gather() takes it: the same place for all that lies beside.
Tensor spread_index(const Tensor& index, ShapeView shape, std::int64_t dim) {
  Shape sizes(shape.begin(), shape.end());
  Strides strides(sizes.size(), 0);
  sizes[static_cast<std::size_t>(dim)] = index.element_count();
  strides[static_cast<std::size_t>(dim)] = index.strides()[0];
  return as_strided(index, sizes, strides, index.offset());
}

Gradients index_select_backward(Operation& op, const Gradients& g) {
  const std::int64_t dim = op.parameters.numbers[0];
  const Tensor zero = zeros_like(op.input(0));
  return one(scatter_add(zero, dim, spread_index(op.saved(0), zero.shape(), dim), g[0]));
}
constexpr OperationKind index_select_kind{"IndexSelect", index_select_backward};

// The elements of an index, one after the other.
Tensor flat(const Tensor& index) {
  return as_strided(kernels::contiguous(index), {index.element_count()}, {1},
                    index.is_contiguous() ? index.offset() : 0);
}

Tensor as_rows(const Tensor& a, std::int64_t columns) {
  return reshape(a, {columns == 0 ? 0 : a.element_count() / columns, columns});
}

Gradients sparse_rows_backward(Operation& op, const Gradients& g) {
  return one(embedding(g[0], op.saved(0), false));
}
constexpr OperationKind sparse_rows_kind{"SparseRows", sparse_rows_backward};

// The sparse matrix with these rows at these places; what has one place adds up.
Tensor sparse_rows(const Tensor& rows, const Tensor& places, ShapeView shape) {
  const Tensor indices = as_strided(kernels::clone(places), {1, places.element_count()},
                                    {places.element_count(), 1}, 0);
  Tensor result = make_sparse(indices, detach(rows), shape);
  if (auto op = record(sparse_rows_kind, result, {rows})) op->save(0, places);
  return result;
}

Gradients embedding_backward(Operation& op, const Gradients& g) {
  const InputMetadata& weight = op.input(0);
  const Tensor rows = as_rows(g[0], weight.shape[1]);
  const Tensor places = flat(op.saved(0));
  if (op.parameters.first == 1) return one(sparse_rows(rows, places, weight.shape));
  return one(scatter_add(zeros_like(weight), 0, spread_index(places, weight.shape, 0), rows));
}
constexpr OperationKind embedding_kind{"Embedding", embedding_backward};

}  // namespace

Tensor gather(const Tensor& a, std::int64_t dim, const Tensor& index) {
  dim = normal_dim(a, dim);
  Tensor result = kernels::gather(a, dim, index);
  if (auto op = record(gather_kind, result, {a})) {
    op->parameters.numbers = {dim};
    op->save(0, index);
  }
  return result;
}

Tensor scatter_add(const Tensor& a, std::int64_t dim, const Tensor& index, const Tensor& source) {
  dim = normal_dim(a, dim);
  Tensor result = kernels::scatter_add(a, dim, index, source);
  if (auto op = record(scatter_add_kind, result, {a, source})) {
    op->parameters.numbers = {dim};
    op->save(0, index);
  }
  return result;
}

Tensor index_select(const Tensor& a, std::int64_t dim, const Tensor& index) {
  dim = normal_dim(a, dim);
  if (index.dim() != 1) invalid("an index of one dimension is needed, not " + describe(index));
  Tensor result = kernels::gather(a, dim, spread_index(index, a.shape(), dim));
  if (auto op = record(index_select_kind, result, {a})) {
    op->parameters.numbers = {dim};
    op->save(0, index);
  }
  return result;
}

Tensor embedding(const Tensor& weight, const Tensor& index, bool sparse) {
  if (weight.dim() != 2) invalid("an embedding of " + describe(weight) + ", which is no matrix");
  Shape shape = index.shape();
  shape.push_back(weight.shape()[1]);
  const Tensor rows = kernels::gather(weight, 0, spread_index(flat(index), weight.shape(), 0));
  Tensor result = as_strided(rows, shape, contiguous_strides(shape), 0);
  if (auto op = record(embedding_kind, result, {weight})) {
    op->parameters.first = sparse ? 1 : 0;
    op->save(0, index);
  }
  return result;
}

}  // namespace gradcts::reference

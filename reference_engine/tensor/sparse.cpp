// Sparse tensors. What depends on the coordinates waits for the device first, since shapes do as
// well. Tested by sparse_test.cpp.
#include <map>
#include <vector>

#include "reference_engine/error.h"
#include "reference_engine/tensor/kernels.h"
#include "reference_engine/tensor/operand.h"
#include "reference_engine/tensor/staging.h"

namespace gradcts::reference::kernels {
namespace {

using Coordinate = std::vector<std::int64_t>;

std::vector<Coordinate> coordinates(const Tensor& sparse) {
  const Tensor host = contiguous(to_device(sparse.indices(), cpu));
  const auto* elements = Operand(host).elements<const std::int64_t>();
  const std::int64_t entries = host.shape()[1];
  std::vector<Coordinate> result(static_cast<std::size_t>(entries));
  for (std::int64_t dim = 0; dim < host.shape()[0]; ++dim) {
    for (std::int64_t i = 0; i < entries; ++i) {
      result[static_cast<std::size_t>(i)].push_back(elements[dim * entries + i]);
    }
  }
  return result;
}

// The block of a dense tensor that an entry stands for.
Tensor block_at(const Tensor& dense, const Coordinate& coordinate) {
  std::int64_t offset = dense.offset();
  for (std::size_t i = 0; i < coordinate.size(); ++i) {
    if (coordinate[i] < 0 || coordinate[i] >= dense.shape()[i]) {
      throw Error(ErrorCategory::invalid_argument,
                  "index " + std::to_string(coordinate[i]) + " is outside of dimension " +
                      std::to_string(i) + " of " + describe(dense));
    }
    offset += coordinate[i] * dense.strides()[i];
  }
  const auto skip = static_cast<std::ptrdiff_t>(coordinate.size());
  return as_strided(dense, ShapeView(dense.shape()).subspan(static_cast<std::size_t>(skip)),
                    ShapeView(dense.strides()).subspan(static_cast<std::size_t>(skip)), offset);
}

Tensor entry(const Tensor& values, std::size_t index) {
  return block_at(values, {static_cast<std::int64_t>(index)});
}

Tensor concatenate(const Tensor& a, const Tensor& b, std::size_t dim, ScalarType type) {
  Shape shape = a.shape();
  shape[dim] += b.shape()[dim];
  Tensor result = empty(shape, type, a.device());
  const Tensor first = as_strided(result, a.shape(), result.strides(), 0);
  const Tensor second =
      as_strided(result, b.shape(), result.strides(), a.shape()[dim] * result.strides()[dim]);
  copy_(first, a);
  copy_(second, b);
  return result;
}

void add_dense_sparse_(const Tensor& dense, const Tensor& sparse) {
  if (dense.shape() != sparse.shape()) {
    throw Error(ErrorCategory::invalid_argument,
                "cannot add " + describe(sparse) + " to " + describe(dense));
  }
  const std::vector<Coordinate> where = coordinates(sparse);
  for (std::size_t i = 0; i < where.size(); ++i) {
    binary_(Binary::add, block_at(dense, where[i]), entry(sparse.values(), i));
  }
}

Tensor add_dense_sparse(const Tensor& dense, const Tensor& sparse) {
  Tensor result = clone(cast(dense, promote(dense.type(), sparse.type())));
  add_dense_sparse_(result, sparse);
  return result;
}

Tensor add_sparse(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.sparse_dim() != b.sparse_dim()) {
    throw Error(ErrorCategory::invalid_argument,
                "cannot add " + describe(a) + " and " + describe(b));
  }
  const ScalarType type = promote(a.type(), b.type());
  return make_sparse(concatenate(a.indices(), b.indices(), 1, ScalarType::int64),
                     concatenate(a.values(), b.values(), 0, type), a.shape());
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  check_defined(a, b);
  if (a.is_sparse() && b.is_sparse()) return add_sparse(a, b);
  if (a.is_sparse()) return add_dense_sparse(b, a);
  return b.is_sparse() ? add_dense_sparse(a, b) : binary(Binary::add, a, b);
}

void add_(const Tensor& dense, const Tensor& b) {
  if (b.is_sparse()) {
    add_dense_sparse_(dense, b);
  } else {
    binary_(Binary::add, dense, b);
  }
}

Tensor to_dense(const Tensor& sparse) {
  if (!sparse.is_sparse()) return sparse;
  Tensor result = zeros(sparse.shape(), sparse.type(), sparse.device());
  add_dense_sparse_(result, sparse);
  return result;
}

Tensor coalesce(const Tensor& sparse) {
  if (sparse.is_coalesced()) return sparse;
  const std::vector<Coordinate> where = coordinates(sparse);
  std::map<Coordinate, std::vector<std::size_t>> entries;
  for (std::size_t i = 0; i < where.size(); ++i) entries[where[i]].push_back(i);

  Shape value_shape = sparse.values().shape();
  value_shape[0] = static_cast<std::int64_t>(entries.size());
  Tensor values = zeros(value_shape, sparse.type(), sparse.device());
  std::vector<double> indices(static_cast<std::size_t>(sparse.sparse_dim()) * entries.size());
  std::size_t next = 0;
  for (const auto& [coordinate, sources] : entries) {
    for (std::size_t dim = 0; dim < coordinate.size(); ++dim) {
      indices[dim * entries.size() + next] = static_cast<double>(coordinate[dim]);
    }
    for (std::size_t i : sources) {
      binary_(Binary::add, entry(values, next), entry(sparse.values(), i));
    }
    ++next;
  }
  const Shape index_shape{sparse.sparse_dim(), static_cast<std::int64_t>(entries.size())};
  return make_sparse(from_values(indices, index_shape, ScalarType::int64, sparse.device()), values,
                     sparse.shape(), true);
}

}  // namespace gradcts::reference::kernels

// Arithmetic on tensors, without autograd: what the differentiable operations (graph/operations.h)
// and the engine's own sums stand on.
//
// Broadcasting, strided access, reductions and layout changes are xtensor's, matrix products and
// half types are Eigen's; both stay behind the .cpp files of this folder, since each costs seconds
// to include.
//
// Operands are on one device and strided unless a function says otherwise; what does not fit throws
// Error(invalid_argument). Results are fresh and contiguous. Functions ending in `_` write into
// their first operand, whatever its strides, and bump its version.
#pragma once

#include <cstdint>
#include <vector>

#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference::kernels {

// Every operand must be defined; an undefined one is Error(invalid_argument).
[[noreturn]] void throw_undefined();
inline void check_defined(const Tensor& a) {
  if (!a.defined()) throw_undefined();
}
inline void check_defined(const Tensor& a, const Tensor& b) {
  check_defined(a);
  check_defined(b);
}

enum class Unary : std::uint8_t {
  neg,
  exp,
  log,
  expm1,
  log1p,
  sin,
  cos,
  tan,
  tanh,
  sigmoid,
  erf,
  relu,
  sqrt,
  abs,
  sign,
  reciprocal,
  conj,
  real,
  imag,
};

enum class Binary : std::uint8_t { add, sub, mul, div, maximum, minimum, pow };

// Comparisons give booleans.
enum class Compare : std::uint8_t { equal, less, less_equal };

Tensor unary(Unary function, const Tensor& a);
void unary_(Unary function, const Tensor& a);

// Operands are broadcast and promoted; in place, the result is rounded to the type of `a`.
Tensor binary(Binary function, const Tensor& a, const Tensor& b);
void binary_(Binary function, const Tensor& a, const Tensor& b);

Tensor compare(Compare function, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);

// factor * a + term
Tensor affine(const Tensor& a, double factor, double term);
void affine_(const Tensor& a, double factor, double term);

void divide_(const Tensor& a, double divisor);

Tensor pow(const Tensor& a, double exponent);
Tensor clamp(const Tensor& a, double low, double high);

// Sums in row-major order, half types in float, so that a result is the same in every run.
Tensor sum(const Tensor& a, ShapeView dims, bool keep_dims);
Tensor sum_to(const Tensor& a, ShapeView shape);

Tensor mm(const Tensor& a, const Tensor& b);
Tensor bmm(const Tensor& a, const Tensor& b);  // two batches of matrices, of one size

// ---- Along dimensions: these count from 0 to one less than there are ----------------------------

// The largest or the smallest element over dims; NaN where one is NaN. There must be one.
enum class Extreme : std::uint8_t { largest, smallest };
Tensor extreme(Extreme which, const Tensor& a, ShapeView dims, bool keep_dims);

// Running sums in rising order, half types in float.
Tensor cumsum(const Tensor& a, std::int64_t dim);

// With the order along the dimension turned round.
Tensor flip(const Tensor& a, std::int64_t dim);

// result[i][j] = a[i][index[i][j]] for dim 1, and its mirror image: a copy of `a` in which
// result[i][index[i][j]] += source[i][j], sums of half types in float. The index is int64, has as
// many dimensions as the others, and is no larger than they are where they are not indexed; its
// elements count from 0. Checking them waits for the device.
Tensor gather(const Tensor& a, std::int64_t dim, const Tensor& index);
Tensor scatter_add(const Tensor& a, std::int64_t dim, const Tensor& index, const Tensor& source);

// Copies `source`, broadcast and cast, into the elements of `a`; also between devices.
void copy_(const Tensor& a, const Tensor& source);
void fill_(const Tensor& a, double value);

Tensor contiguous(const Tensor& a);  // a itself where it is contiguous
Tensor clone(const Tensor& a);       // contiguous; of a sparse tensor: of both parts
Tensor clone_strided(const Tensor& a, ShapeView strides);  // into these dense strides
Tensor cast(const Tensor& a, ScalarType type);             // also of sparse tensors
Tensor to_device(const Tensor& a, Device device);          // also of sparse tensors

// Does any element differ from itself? Waits for the device.
bool has_nan(const Tensor& a);

// ---- Sparse tensors ----------------------------------------------------------------------------

Tensor to_dense(const Tensor& sparse);
Tensor coalesce(const Tensor& sparse);

// a + b, each dense or sparse; sparse if both are, with the entries of both one after the other.
Tensor add(const Tensor& a, const Tensor& b);

// dense += b, which may be either.
void add_(const Tensor& dense, const Tensor& b);

}  // namespace gradcts::reference::kernels

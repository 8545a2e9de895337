// Differentiable operations on tensors. Each records exactly one node, if recording is on and an
// input requires grad; the backward of each is written with the same operations, so that
// create_graph gives derivatives of any order (GRAPH2-1).
//
// Operands of different shapes are broadcast, of different types promoted. Arguments that do not
// fit throw Error(invalid_argument). Results of shape operations (reshape where strides allow it,
// expand, transpose, select, slice, unbind, view_as_real, view_as_complex) are views: they share
// the storage of their operand, and an in-place change of one shows in the other, in values and in
// gradients.
//
// Conventions: d/dx of relu, abs, clamp, maximum and minimum at a corner is 0, 0, 1, 1/2, 1/2. The
// gradient of a real loss by a complex x is dL/dRe(x) + i dL/dIm(x).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reference_engine/graph/autograd.h"
#include "reference_engine/tensor/tensor.h"

namespace gradcts::reference {

// ---- Arithmetic --------------------------------------------------------------------------------

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor neg(const Tensor& a);
Tensor scale(const Tensor& a, double factor);
Tensor add_scalar(const Tensor& a, double term);
Tensor pow(const Tensor& a, double exponent);
Tensor pow(const Tensor& a,
           const Tensor& exponent);  // where a is 0 and it is not negative, its gradient is 0
Tensor maximum(const Tensor& a, const Tensor& b);
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);  // condition is boolean
Tensor clamp(const Tensor& a, double low, double high);
Tensor mm(const Tensor& a, const Tensor& b);   // two matrices
Tensor bmm(const Tensor& a, const Tensor& b);  // two batches of as many matrices

// ---- Functions of one argument -----------------------------------------------------------------

Tensor exp(const Tensor& a);
Tensor log(const Tensor& a);
Tensor expm1(const Tensor& a);
Tensor log1p(const Tensor& a);
Tensor sin(const Tensor& a);
Tensor cos(const Tensor& a);
Tensor tan(const Tensor& a);
Tensor tanh(const Tensor& a);
Tensor sigmoid(const Tensor& a);
Tensor erf(const Tensor& a);
Tensor relu(const Tensor& a);
Tensor sqrt(const Tensor& a);
Tensor abs(const Tensor& a);   // real, also of a complex tensor
Tensor conj(const Tensor& a);  // a itself where it is real

// ---- Reductions --------------------------------------------------------------------------------

Tensor sum(const Tensor& a);
Tensor sum(const Tensor& a, ShapeView dims, bool keep_dims);
Tensor mean(const Tensor& a);
Tensor mean(const Tensor& a, ShapeView dims, bool keep_dims);
Tensor sum_to(const Tensor& a, ShapeView shape);  // undoes expand()

// The largest or smallest element; equal ones share the gradient evenly.
Tensor amax(const Tensor& a, ShapeView dims, bool keep_dims);
Tensor amin(const Tensor& a, ShapeView dims, bool keep_dims);
Tensor logsumexp(const Tensor& a, ShapeView dims, bool keep_dims);

// ---- Along a dimension -------------------------------------------------------------------------

Tensor softmax(const Tensor& a, std::int64_t dim);
Tensor log_softmax(const Tensor& a, std::int64_t dim);
// Over the last dimension, with the biased variance; weight and bias have its size.
Tensor layer_norm(const Tensor& a, const Tensor& weight, const Tensor& bias, double eps);
Tensor cumsum(const Tensor& a, std::int64_t dim);
Tensor flip(const Tensor& a, ShapeView dims);  // a copy

// ---- By an index -------------------------------------------------------------------------------
// An index is int64, and counts from 0. One that is out of range is Error(invalid_argument).

// result[i][j] = a[i][index[i][j]] for dim 1; the index has as many dimensions as a.
Tensor gather(const Tensor& a, std::int64_t dim, const Tensor& index);
// A copy of a, with result[i][index[i][j]] += source[i][j] for dim 1.
Tensor scatter_add(const Tensor& a, std::int64_t dim, const Tensor& index, const Tensor& source);
// The parts along dim that a list names.
Tensor index_select(const Tensor& a, std::int64_t dim, const Tensor& index);
// The rows of a matrix that an index of any shape names. If asked, the gradient of the matrix is
// sparse, with an entry for each element of the index.
Tensor embedding(const Tensor& weight, const Tensor& index, bool sparse);

// ---- Shape -------------------------------------------------------------------------------------

Tensor reshape(const Tensor& a, ShapeView shape);  // one size may be -1
Tensor expand(const Tensor& a, ShapeView shape);
Tensor transpose(const Tensor& a, std::int64_t dim0, std::int64_t dim1);
Tensor select(const Tensor& a, std::int64_t dim, std::int64_t index);
Tensor slice(const Tensor& a, std::int64_t dim, std::int64_t begin, std::int64_t end,
             std::int64_t step = 1);
Tensor view_as_real(const Tensor& a);     // of a complex tensor: with a last dimension of 2
Tensor view_as_complex(const Tensor& a);  // the way back
std::vector<Tensor> unbind(const Tensor& a, std::int64_t dim);
Tensor cat(absl::Span<const Tensor> tensors, std::int64_t dim);

// ---- Copies, types, devices --------------------------------------------------------------------

Tensor clone(const Tensor& a);
Tensor detach(const Tensor& a);      // the same elements without history
Tensor view_alias(const Tensor& a);  // the same elements, as a view with history
Tensor cast(const Tensor& a, ScalarType type);
Tensor to_device(const Tensor& a, Device device);
Tensor to_dense(const Tensor& a);

// ---- In place ----------------------------------------------------------------------------------
// Change the elements and the version of `a`, and record a node if `a` or the other operand
// requires grad. A leaf that requires grad must not be changed while recording, nor an expanded
// tensor.

void add_(const Tensor& a, const Tensor& b);
void sub_(const Tensor& a, const Tensor& b);
void mul_(const Tensor& a, const Tensor& b);
void div_(const Tensor& a, const Tensor& b);
void scale_(const Tensor& a, double factor);
void neg_(const Tensor& a);
void exp_(const Tensor& a);
void sin_(const Tensor& a);
void tanh_(const Tensor& a);
void sigmoid_(const Tensor& a);
void relu_(const Tensor& a);
void zero_(const Tensor& a);
void fill_(const Tensor& a,
           double value);  // this and copy_: the gradient of what was there is zero
void copy_(const Tensor& a, const Tensor& source);

}  // namespace gradcts::reference

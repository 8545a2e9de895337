// Extremes, logsumexp, softmax, layer_norm, running sums and flips. Tested by
// along_dimensions_test.cpp.
//
// Those that take several steps take them in float32 where the elements are of a half type, and
// round once, forward and backward.
#include <algorithm>
#include <limits>

#include "reference_engine/error.h"
#include "reference_engine/graph/dimensions.h"
#include "reference_engine/graph/operation.h"
#include "reference_engine/graph/operations.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {
namespace {

using kernels::Binary;
using kernels::Compare;
using kernels::Extreme;
using kernels::Unary;

void require_real(const Tensor& a, const char* what) {
  if (is_differentiable(a.type()) && !is_complex(a.type())) return;
  throw Error(ErrorCategory::invalid_argument, std::string(what) + " of " + describe(a));
}

ScalarType wide(ScalarType type) {
  return is_half(type) ? ScalarType::float32 : type;
}
Tensor wide(const Tensor& a) {
  return cast(a, wide(a.type()));
}

// ---- Extremes ----------------------------------------------------------------------------------

Gradients extreme_backward(Operation& op, const Gradients& g) {
  const Tensor x = op.saved(0);
  const auto& dims = op.parameters.numbers;
  const auto keep = [&](const Tensor& reduced) { return with_kept_dims(reduced, x.shape(), dims); };
  const Tensor is_extreme = kernels::compare(Compare::equal, x, detach(keep(op.saved(1))));
  const Tensor count = kernels::sum(kernels::cast(is_extreme, wide(x.type())), dims, true);
  const Tensor share = div(wide(keep(g[0])), count);
  return one(op.fit(0, where(is_extreme, share, full({}, 0, share.type(), share.device()))));
}
constexpr OperationKind amax_kind{"Amax", extreme_backward};
constexpr OperationKind amin_kind{"Amin", extreme_backward};

Tensor extreme(const OperationKind& kind, Extreme which, const Tensor& a, ShapeView dims,
               bool keep_dims) {
  const Shape normal = normal_dims(a, dims);
  Tensor result = kernels::extreme(which, a, normal, keep_dims);
  if (auto op = record(kind, result, {a})) {
    op->parameters.numbers = normal;
    op->save(0, a);
    op->save_output(1, result);
  }
  return result;
}

// ---- Sums of exponentials ----------------------------------------------------------------------

// e ** (a - shift) does not overflow; a shift that is infinite would make it nan.
Tensor finite_shift(const Tensor& a, ShapeView dims) {
  const Tensor largest = kernels::extreme(Extreme::largest, a, dims, true);
  const Tensor infinite =
      kernels::compare(Compare::equal, kernels::unary(Unary::abs, largest),
                       full({}, std::numeric_limits<double>::infinity(), a.type(), a.device()));
  return kernels::where(infinite, full({}, 0, a.type(), a.device()), largest);
}

Gradients logsumexp_backward(Operation& op, const Gradients& g) {
  const Tensor x = wide(op.saved(0));
  const auto& dims = op.parameters.numbers;
  const Tensor y = wide(with_kept_dims(op.saved(1), x.shape(), dims));
  return one(op.fit(0, mul(with_kept_dims(g[0], x.shape(), dims), exp(sub(x, y)))));
}
constexpr OperationKind logsumexp_kind{"Logsumexp", logsumexp_backward};

Gradients softmax_backward(Operation& op, const Gradients& g) {
  const Tensor y = wide(op.saved(0));
  const Tensor gradient = wide(g[0]);
  const Tensor all = sum(mul(gradient, y), op.parameters.numbers, true);
  return one(op.fit(0, mul(y, sub(gradient, all))));
}
constexpr OperationKind softmax_kind{"Softmax", softmax_backward};

Gradients log_softmax_backward(Operation& op, const Gradients& g) {
  const Tensor y = wide(op.saved(0));
  const Tensor gradient = wide(g[0]);
  const Tensor all = sum(gradient, op.parameters.numbers, true);
  return one(op.fit(0, sub(gradient, mul(exp(y), all))));
}
constexpr OperationKind log_softmax_kind{"LogSoftmax", log_softmax_backward};

Tensor normalised(const OperationKind& kind, const Tensor& a, std::int64_t dim,
                  Tensor (*function)(const Tensor& exponent, const Tensor& total)) {
  require_real(a, "softmax");
  const Shape dims{normal_dim(a, dim)};
  Tensor result = kernels::clone(a);
  if (a.element_count() > 0) {
    const Tensor x = kernels::cast(a, wide(a.type()));
    const Tensor largest = kernels::extreme(Extreme::largest, x, dims, true);
    const Tensor exponent = kernels::binary(Binary::sub, x, largest);
    const Tensor total = kernels::sum(kernels::unary(Unary::exp, exponent), dims, true);
    result = kernels::cast(function(exponent, total), a.type());
  }
  if (auto op = record(kind, result, {a})) {
    op->parameters.numbers = dims;
    op->save_output(0, result);
  }
  return result;
}

// ---- Layer norm --------------------------------------------------------------------------------

// Written from the input, so that it can be differentiated again through the mean and the variance.
Gradients layer_norm_backward(Operation& op, const Gradients& g) {
  const Tensor x = wide(op.saved(0));
  const Tensor gradient = wide(g[0]);
  const Shape last{x.dim() - 1};
  const Tensor centred = sub(x, mean(x, last, true));
  const Tensor variance = mean(mul(centred, centred), last, true);
  const Tensor deviation = sqrt(add_scalar(variance, op.parameters.first));
  const Tensor hat = div(centred, deviation);
  Gradients result(3);
  if (op.needs(0)) {
    const Tensor inner = mul(gradient, wide(op.saved(1)));
    const Tensor along = mul(hat, mean(mul(inner, hat), last, true));
    result[0] = op.fit(0, div(sub(sub(inner, mean(inner, last, true)), along), deviation));
  }
  if (op.needs(1)) result[1] = op.fit(1, mul(gradient, hat));
  if (op.needs(2)) result[2] = op.fit(2, gradient);
  return result;
}
constexpr OperationKind layer_norm_kind{"LayerNorm", layer_norm_backward};

Tensor layer_norm_value(const Tensor& a, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor x = kernels::cast(a, wide(a.type()));
  const Shape last{a.dim() - 1};
  const Tensor count = full({}, static_cast<double>(a.shape().back()), x.type(), a.device());
  const auto mean_of = [&](const Tensor& t) {
    return kernels::binary(Binary::div, kernels::sum(t, last, true), count);
  };
  const Tensor centred = kernels::binary(Binary::sub, x, mean_of(x));
  const Tensor variance = mean_of(kernels::binary(Binary::mul, centred, centred));
  const Tensor deviation = kernels::unary(Unary::sqrt, kernels::affine(variance, 1, eps));
  const Tensor hat = kernels::binary(Binary::div, centred, deviation);
  const Tensor weighed = kernels::binary(Binary::mul, hat, weight);
  return kernels::cast(kernels::binary(Binary::add, weighed, bias), a.type());
}

// ---- Running sums and flips --------------------------------------------------------------------

Gradients cumsum_backward(Operation& op, const Gradients& g) {
  const auto& dims = op.parameters.numbers;
  return one(flip(cumsum(flip(g[0], dims), dims[0]), dims));
}
constexpr OperationKind cumsum_kind{"Cumsum", cumsum_backward};

Gradients flip_backward(Operation& op, const Gradients& g) {
  return one(flip(g[0], op.parameters.numbers));
}
constexpr OperationKind flip_kind{"Flip", flip_backward};

}  // namespace

Tensor amax(const Tensor& a, ShapeView dims, bool keep_dims) {
  return extreme(amax_kind, Extreme::largest, a, dims, keep_dims);
}

Tensor amin(const Tensor& a, ShapeView dims, bool keep_dims) {
  return extreme(amin_kind, Extreme::smallest, a, dims, keep_dims);
}

Tensor logsumexp(const Tensor& a, ShapeView dims, bool keep_dims) {
  require_real(a, "logsumexp");
  const Shape normal = normal_dims(a, dims);
  const Tensor x = kernels::cast(a, wide(a.type()));
  const Tensor shift = finite_shift(x, normal);
  const Tensor parts = kernels::unary(Unary::exp, kernels::binary(Binary::sub, x, shift));
  const Tensor log = kernels::unary(Unary::log, kernels::sum(parts, normal, true));
  const Tensor kept = kernels::cast(kernels::binary(Binary::add, log, shift), a.type());
  Shape shape;
  for (std::int64_t d = 0; d < a.dim(); ++d) {
    const bool reduced = std::find(normal.begin(), normal.end(), d) != normal.end();
    if (!reduced || keep_dims) shape.push_back(kept.shape()[static_cast<std::size_t>(d)]);
  }
  Tensor result = as_strided(kept, shape, contiguous_strides(shape), 0);
  if (auto op = record(logsumexp_kind, result, {a})) {
    op->parameters.numbers = normal;
    op->save(0, a);
    op->save_output(1, result);
  }
  return result;
}

Tensor softmax(const Tensor& a, std::int64_t dim) {
  return normalised(softmax_kind, a, dim, [](const Tensor& exponent, const Tensor& total) {
    return kernels::binary(Binary::div, kernels::unary(Unary::exp, exponent), total);
  });
}

Tensor log_softmax(const Tensor& a, std::int64_t dim) {
  return normalised(log_softmax_kind, a, dim, [](const Tensor& exponent, const Tensor& total) {
    return kernels::binary(Binary::sub, exponent, kernels::unary(Unary::log, total));
  });
}

Tensor layer_norm(const Tensor& a, const Tensor& weight, const Tensor& bias, double eps) {
  require_real(a, "layer_norm");
  const bool fits =
      a.dim() > 0 && weight.shape() == Shape{a.shape().back()} && bias.shape() == weight.shape();
  if (!fits) {
    throw Error(ErrorCategory::invalid_argument, "layer_norm of " + describe(a) + " with weight " +
                                                     describe(weight) + " and bias " +
                                                     describe(bias));
  }
  Tensor result = layer_norm_value(a, weight, bias, eps);
  if (auto op = record(layer_norm_kind, result, {a, weight, bias})) {
    op->parameters.first = eps;
    op->save(0, a);
    op->save(1, weight);
  }
  return result;
}

Tensor cumsum(const Tensor& a, std::int64_t dim) {
  dim = normal_dim(a, dim);
  Tensor result = kernels::cumsum(a, dim);
  if (auto op = record(cumsum_kind, result, {a})) op->parameters.numbers = {dim};
  return result;
}

Tensor flip(const Tensor& a, ShapeView dims) {
  const Shape normal = normal_dims(a, dims);
  Tensor result = kernels::clone(a);
  for (std::int64_t dim : normal) result = kernels::flip(result, dim);
  if (auto op = record(flip_kind, result, {a})) op->parameters.numbers = normal;
  return result;
}

}  // namespace gradcts::reference

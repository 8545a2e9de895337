// Arithmetic and functions of one argument. Tested by operations_test.cpp.
//
// In each pair the backward function comes first. `g` is the gradient of the result.
#include <numbers>

#include "reference_engine/graph/in_place.h"
#include "reference_engine/graph/operation.h"
#include "reference_engine/graph/operations.h"
#include "reference_engine/tensor/kernels.h"

namespace gradcts::reference {
namespace {

using kernels::Binary;
using kernels::Compare;
using kernels::Unary;

// A number as a tensor, for kernels that compare.
Tensor number_like(const Tensor& a, double value) {
  return full({}, value, a.type(), a.device());
}

Tensor zero_like(const Tensor& a) {
  return number_like(a, 0);
}

Tensor both(const Tensor& first, const Tensor& second) {
  return kernels::where(first, second, full({}, 0, ScalarType::boolean, first.device()));
}

// ---- Two operands ------------------------------------------------------------------------------

Gradients add_backward(Operation& op, const Gradients& g) {
  Gradients result(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    if (op.needs(i)) result[i] = op.fit(i, g[0]);
  }
  return result;
}
constexpr OperationKind add_kind{"Add", add_backward, true};

Gradients sub_backward(Operation& op, const Gradients& g) {
  Gradients result(2);
  if (op.needs(0)) result[0] = op.fit(0, g[0]);
  if (op.needs(1)) result[1] = op.fit(1, neg(g[0]));
  return result;
}
constexpr OperationKind sub_kind{"Sub", sub_backward};

Gradients mul_backward(Operation& op, const Gradients& g) {
  Gradients result(2);
  if (op.needs(0)) result[0] = op.fit(0, mul(g[0], conj(op.saved(1))));
  if (op.needs(1)) result[1] = op.fit(1, mul(g[0], conj(op.saved(0))));
  return result;
}
constexpr OperationKind mul_kind{"Mul", mul_backward};

Gradients div_backward(Operation& op, const Gradients& g) {
  Gradients result(2);
  const Tensor b = conj(op.saved(1));
  const Tensor by_a = div(g[0], b);
  if (op.needs(0)) result[0] = op.fit(0, by_a);
  if (op.needs(1)) {
    result[1] = op.fit(1, neg(mul(by_a, div(conj(op.saved(0)), b))));
  }
  return result;
}
constexpr OperationKind div_kind{"Div", div_backward};

// `a`, but 1 where both conditions hold: there a factor of the gradient is not what the formula
// says.
Tensor one_where(const Tensor& first, const Tensor& second, const Tensor& a) {
  return where(both(first, second), number_like(a, 1), a);
}

// By a: b * a ** (b - 1), and 0 for 0 ** 0. By b: a ** b * log(a), and 0 where a is 0 and b is not
// negative.
Gradients pow_backward(Operation& op, const Gradients& g) {
  Gradients result(2);
  const Tensor a = op.saved(0);
  const Tensor b = op.saved(1);
  const Tensor zero = kernels::compare(Compare::equal, a, number_like(a, 0));
  if (op.needs(0)) {
    const Tensor base = one_where(zero, kernels::compare(Compare::equal, b, number_like(b, 0)), a);
    result[0] = op.fit(0, mul(g[0], conj(mul(b, pow(base, add_scalar(b, -1))))));
  }
  if (op.needs(1)) {
    const Tensor part = is_complex(b.type()) ? kernels::unary(Unary::real, b) : b;
    const Tensor rises = kernels::compare(Compare::less_equal, number_like(part, 0), part);
    result[1] = op.fit(1, mul(g[0], conj(mul(op.saved(2), log(one_where(zero, rises, a))))));
  }
  return result;
}
constexpr OperationKind pow_kind{"Pow", pow_backward};

// Both operands take half of the gradient where they tie. Chosen and not multiplied: 0 times NaN is
// not 0.
template <Compare compare, bool swapped>
Gradients extremum_backward(Operation& op, const Gradients& g) {
  Gradients result(2);
  const Tensor a = op.saved(0);
  const Tensor b = op.saved(1);
  const Tensor half =
      where(kernels::compare(Compare::equal, a, b), scale(g[0], 0.5), zero_like(g[0]));
  const auto share = [&](const Tensor& winner, const Tensor& loser) {
    const Tensor wins = swapped ? kernels::compare(compare, winner, loser)
                                : kernels::compare(compare, loser, winner);
    return where(wins, g[0], half);
  };
  if (op.needs(0)) result[0] = op.fit(0, share(a, b));
  if (op.needs(1)) result[1] = op.fit(1, share(b, a));
  return result;
}
constexpr OperationKind maximum_kind{"Maximum", extremum_backward<Compare::less, false>};
constexpr OperationKind minimum_kind{"Minimum", extremum_backward<Compare::less, true>};

Gradients where_backward(Operation& op, const Gradients& g) {
  Gradients result(2);
  const Tensor condition = op.saved(0);
  const Tensor zero = zero_like(g[0]);
  if (op.needs(0)) result[0] = op.fit(0, where(condition, g[0], zero));
  if (op.needs(1)) result[1] = op.fit(1, where(condition, zero, g[0]));
  return result;
}
constexpr OperationKind where_kind{"Where", where_backward};

Gradients mm_backward(Operation& op, const Gradients& g) {
  Gradients result(2);
  if (op.needs(0)) result[0] = op.fit(0, mm(g[0], conj(transpose(op.saved(1), 0, 1))));
  if (op.needs(1)) result[1] = op.fit(1, mm(conj(transpose(op.saved(0), 0, 1)), g[0]));
  return result;
}
constexpr OperationKind mm_kind{"Mm", mm_backward};

Gradients bmm_backward(Operation& op, const Gradients& g) {
  Gradients result(2);
  if (op.needs(0)) result[0] = op.fit(0, bmm(g[0], conj(transpose(op.saved(1), 1, 2))));
  if (op.needs(1)) result[1] = op.fit(1, bmm(conj(transpose(op.saved(0), 1, 2)), g[0]));
  return result;
}
constexpr OperationKind bmm_kind{"Bmm", bmm_backward};

// Each operand is saved only for the other one's gradient.
void save_operands(const OperationPointer& op, const Tensor& a, const Tensor& b) {
  if (!op) return;
  if (op->next_edges()[1]) op->save(0, a);
  if (op->next_edges()[0]) op->save(1, b);
}

Tensor multiplied(const OperationKind& kind, Tensor result, const Tensor& a, const Tensor& b) {
  save_operands(record(kind, result, {a, b}), a, b);
  return result;
}

Tensor with_both_saved(const OperationKind& kind, Tensor result, const Tensor& a, const Tensor& b) {
  if (auto op = record(kind, result, {a, b})) {
    op->save(0, a);
    op->save(1, b);
  }
  return result;
}

// ---- One operand and numbers -------------------------------------------------------------------

Gradients neg_backward(Operation&, const Gradients& g) {
  return one(neg(g[0]));
}
constexpr OperationKind neg_kind{"Neg", neg_backward};

Gradients scale_backward(Operation& op, const Gradients& g) {
  return one(scale(g[0], op.parameters.first));
}
constexpr OperationKind scale_kind{"Scale", scale_backward};

Gradients add_scalar_backward(Operation&, const Gradients& g) {
  return one(g[0]);
}
constexpr OperationKind add_scalar_kind{"AddScalar", add_scalar_backward, true};

Gradients power_backward(Operation& op, const Gradients& g) {
  const double exponent = op.parameters.first;
  if (exponent == 0) return one(zeros(g[0].shape(), g[0].type(), g[0].device()));
  const Tensor slope = scale(pow(op.saved(0), exponent - 1), exponent);
  return one(mul(g[0], conj(slope)));
}
constexpr OperationKind power_kind{"Power", power_backward};

// The saved tensor says where the operand is kept.
Gradients clamp_backward(Operation& op, const Gradients& g) {
  return one(where(op.saved(0), g[0], zero_like(g[0])));
}
constexpr OperationKind clamp_kind{"Clamp", clamp_backward};

// ---- Functions, from their argument x or their value y -----------------------------------------

Gradients exp_backward(Operation& op, const Gradients& g) {
  return one(mul(g[0], conj(op.saved(0))));  // y
}
constexpr OperationKind exp_kind{"Exp", exp_backward};

Gradients log_backward(Operation& op, const Gradients& g) {
  return one(div(g[0], conj(op.saved(0))));  // x
}
constexpr OperationKind log_kind{"Log", log_backward};

Gradients expm1_backward(Operation& op, const Gradients& g) {
  return one(mul(g[0], add_scalar(conj(op.saved(0)), 1)));  // y
}
constexpr OperationKind expm1_kind{"Expm1", expm1_backward};

Gradients log1p_backward(Operation& op, const Gradients& g) {
  return one(div(g[0], add_scalar(conj(op.saved(0)), 1)));  // x
}
constexpr OperationKind log1p_kind{"Log1p", log1p_backward};

Gradients sin_backward(Operation& op, const Gradients& g) {
  return one(mul(g[0], conj(cos(op.saved(0)))));  // x
}
constexpr OperationKind sin_kind{"Sin", sin_backward};

Gradients cos_backward(Operation& op, const Gradients& g) {
  return one(neg(mul(g[0], conj(sin(op.saved(0))))));  // x
}
constexpr OperationKind cos_kind{"Cos", cos_backward};

Gradients tan_backward(Operation& op, const Gradients& g) {
  const Tensor y = conj(op.saved(0));
  return one(mul(g[0], add_scalar(mul(y, y), 1)));
}
constexpr OperationKind tan_kind{"Tan", tan_backward};

Gradients tanh_backward(Operation& op, const Gradients& g) {
  const Tensor y = conj(op.saved(0));
  return one(mul(g[0], add_scalar(neg(mul(y, y)), 1)));
}
constexpr OperationKind tanh_kind{"Tanh", tanh_backward};

Gradients sigmoid_backward(Operation& op, const Gradients& g) {
  const Tensor y = conj(op.saved(0));
  return one(mul(g[0], mul(y, add_scalar(neg(y), 1))));
}
constexpr OperationKind sigmoid_kind{"Sigmoid", sigmoid_backward};

Gradients erf_backward(Operation& op, const Gradients& g) {
  const Tensor x = op.saved(0);
  return one(mul(g[0], scale(exp(neg(mul(x, x))), 2 * std::numbers::inv_sqrtpi)));
}
constexpr OperationKind erf_kind{"Erf", erf_backward};

Gradients relu_backward(Operation& op, const Gradients& g) {
  const Tensor y = op.saved(0);
  return one(where(kernels::compare(Compare::less, zero_like(y), y), g[0], zero_like(g[0])));
}
constexpr OperationKind relu_kind{"Relu", relu_backward};

Gradients sqrt_backward(Operation& op, const Gradients& g) {
  return one(div(g[0], scale(conj(op.saved(0)), 2)));  // y
}
constexpr OperationKind sqrt_kind{"Sqrt", sqrt_backward};

Gradients abs_backward(Operation& op, const Gradients& g) {
  const Tensor x = op.saved(0);
  if (is_complex(x.type())) {
    const Tensor modulus = abs(x);
    const Tensor zero = kernels::compare(Compare::equal, modulus, number_like(modulus, 0));
    return one(mul(g[0], div(x, cast(where(zero, number_like(modulus, 1), modulus), x.type()))));
  }
  return one(mul(g[0], kernels::unary(Unary::sign, detach(x))));
}
constexpr OperationKind abs_kind{"Abs", abs_backward};

Gradients conj_backward(Operation&, const Gradients& g) {
  return one(conj(g[0]));
}
constexpr OperationKind conj_kind{"Conj", conj_backward};

Tensor from_argument(const OperationKind& kind, Unary function, const Tensor& a) {
  Tensor result = kernels::unary(function, a);
  if (auto op = record(kind, result, {a})) op->save(0, a);
  return result;
}

Tensor from_value(const OperationKind& kind, Unary function, const Tensor& a) {
  Tensor result = kernels::unary(function, a);
  if (auto op = record(kind, result, {a})) op->save_output(0, result);
  return result;
}

// In place, such a function saves the changed tensor itself, and so notices a later change
// (KEEP-3).
void from_value_(const OperationKind& kind, Unary function, const Tensor& a) {
  kernels::check_defined(a);
  check_changeable(a);
  OperationPointer op;
  if (is_recorded({a})) {
    op = make_node<Operation>(kind, gradient_edges({a}));
    op->add_slot(InputMetadata(a));
  }
  kernels::unary_(function, a);
  if (!op) return;
  adopt_history(a, op);
  op->save_output(0, a);
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  Tensor result = kernels::add(a, b);
  record(add_kind, result, {a, b});
  return result;
}

Tensor sub(const Tensor& a, const Tensor& b) {
  Tensor result = kernels::binary(Binary::sub, a, b);
  record(sub_kind, result, {a, b});
  return result;
}

Tensor mul(const Tensor& a, const Tensor& b) {
  return multiplied(mul_kind, kernels::binary(Binary::mul, a, b), a, b);
}

Tensor div(const Tensor& a, const Tensor& b) {
  Tensor result = kernels::binary(Binary::div, a, b);
  if (auto op = record(div_kind, result, {a, b})) {
    if (op->next_edges()[1]) op->save(0, a);
    op->save(1, b);
  }
  return result;
}

Tensor neg(const Tensor& a) {
  Tensor result = kernels::unary(Unary::neg, a);
  record(neg_kind, result, {a});
  return result;
}

Tensor scale(const Tensor& a, double factor) {
  Tensor result = kernels::affine(a, factor, 0);
  if (auto op = record(scale_kind, result, {a})) op->parameters.first = factor;
  return result;
}

Tensor add_scalar(const Tensor& a, double term) {
  Tensor result = kernels::affine(a, 1, term);
  record(add_scalar_kind, result, {a});
  return result;
}

Tensor pow(const Tensor& a, double exponent) {
  Tensor result = kernels::pow(a, exponent);
  if (auto op = record(power_kind, result, {a})) {
    op->parameters.first = exponent;
    op->save(0, a);
  }
  return result;
}

Tensor pow(const Tensor& a, const Tensor& b) {
  Tensor result = kernels::binary(Binary::pow, a, b);
  if (auto op = record(pow_kind, result, {a, b})) {
    op->save(0, a);
    op->save(1, b);
    if (op->next_edges()[1]) op->save_output(2, result);
  }
  return result;
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return with_both_saved(maximum_kind, kernels::binary(Binary::maximum, a, b), a, b);
}

Tensor minimum(const Tensor& a, const Tensor& b) {
  return with_both_saved(minimum_kind, kernels::binary(Binary::minimum, a, b), a, b);
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  Tensor result = kernels::where(condition, a, b);
  if (auto op = record(where_kind, result, {a, b})) op->save(0, condition);
  return result;
}

Tensor clamp(const Tensor& a, double low, double high) {
  Tensor result = kernels::clamp(a, low, high);
  if (auto op = record(clamp_kind, result, {a})) {
    const Tensor above = kernels::compare(Compare::less_equal, number_like(a, low), a);
    const Tensor below = kernels::compare(Compare::less_equal, a, number_like(a, high));
    op->save(0, both(above, below));
  }
  return result;
}

Tensor mm(const Tensor& a, const Tensor& b) {
  return multiplied(mm_kind, kernels::mm(a, b), a, b);
}

Tensor bmm(const Tensor& a, const Tensor& b) {
  return multiplied(bmm_kind, kernels::bmm(a, b), a, b);
}

Tensor exp(const Tensor& a) {
  return from_value(exp_kind, Unary::exp, a);
}
Tensor log(const Tensor& a) {
  return from_argument(log_kind, Unary::log, a);
}
Tensor expm1(const Tensor& a) {
  return from_value(expm1_kind, Unary::expm1, a);
}
Tensor log1p(const Tensor& a) {
  return from_argument(log1p_kind, Unary::log1p, a);
}
Tensor sin(const Tensor& a) {
  return from_argument(sin_kind, Unary::sin, a);
}
Tensor cos(const Tensor& a) {
  return from_argument(cos_kind, Unary::cos, a);
}
Tensor tan(const Tensor& a) {
  return from_value(tan_kind, Unary::tan, a);
}
Tensor tanh(const Tensor& a) {
  return from_value(tanh_kind, Unary::tanh, a);
}
Tensor sigmoid(const Tensor& a) {
  return from_value(sigmoid_kind, Unary::sigmoid, a);
}
Tensor erf(const Tensor& a) {
  return from_argument(erf_kind, Unary::erf, a);
}
Tensor relu(const Tensor& a) {
  return from_value(relu_kind, Unary::relu, a);
}
Tensor sqrt(const Tensor& a) {
  return from_value(sqrt_kind, Unary::sqrt, a);
}
Tensor abs(const Tensor& a) {
  return from_argument(abs_kind, Unary::abs, a);
}

void exp_(const Tensor& a) {
  from_value_(exp_kind, Unary::exp, a);
}
void tanh_(const Tensor& a) {
  from_value_(tanh_kind, Unary::tanh, a);
}
void sigmoid_(const Tensor& a) {
  from_value_(sigmoid_kind, Unary::sigmoid, a);
}
void relu_(const Tensor& a) {
  from_value_(relu_kind, Unary::relu, a);
}

Tensor conj(const Tensor& a) {
  kernels::check_defined(a);
  if (!is_complex(a.type())) return a;
  Tensor result = kernels::unary(Unary::conj, a);
  record(conj_kind, result, {a});
  return result;
}

}  // namespace gradcts::reference

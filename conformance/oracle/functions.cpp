#include "conformance/oracle/functions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <unordered_map>

#include "conformance/oracle/rules.h"

namespace gradcts::oracle {

void need_dense(const Tensor& tensor, const char* operation) {
  if (tensor.sparse) throw CannotTell(std::string("a sparse tensor in ") + operation);
}

Device common_device(const Tensor& a, const Tensor& b) {
  if (a.device == b.device) return a.device;
  if (a.shape.empty() && !b.shape.empty()) return b.device;
  if (b.shape.empty() && !a.shape.empty()) return a.device;
  throw Refused{ErrorCategory::invalid_argument};
}

// The gradient of an operand from that of the broadcast, promoted result.
Tensor* fit(Graph& graph, Tensor* gradient, const Tensor& operand) {
  return cast(graph, sum_to(graph, gradient, operand.shape), operand.type);
}

// ---- Linear building blocks that the vocabulary does not have
// -----------------------------------------

Tensor* conjugate(Graph& graph, Tensor* a) {
  if (!is_complex(a->type)) return a;
  Tensor* out =
      graph.make(elementwise(elements_of(*a), [](Number v) { return std::conj(v); }), a->device);
  out->sparse = a->sparse;
  graph.record({a}, {out}, [](Graph& g, GraphNode&, const Gradients& d) {
    return Gradients{conjugate(g, d[0])};
  });
  return out;
}

// Each element times its real weight; weight 0 gives 0 whatever the element, also for infinity.
Tensor* weigh(Graph& graph, Tensor* a, const std::shared_ptr<const Array>& weights) {
  need_dense(*a, "a selection");
  const Shape shape = broadcast_shape(a->shape, weights->shape);
  Tensor* out = graph.make(
      elementwise(a->type, broadcast(elements_of(*a), shape), broadcast(*weights, shape),
                  [](Number v, Number w) { return w.real() == 0 ? Number(0) : v * w.real(); }),
      a->device);
  GraphNode* node =
      graph.record({a}, {out}, [weights, a](Graph& g, GraphNode&, const Gradients& d) {
        return Gradients{fit(g, weigh(g, d[0], weights), *a)};
      });
  if (node) node->may_save = true;
  return out;
}

// a / divisor, rounded once.
Tensor* divide_by(Graph& graph, Tensor* a, double divisor) {
  Tensor* out =
      graph.make(elementwise(elements_of(*a), [&](Number v) { return v / divisor; }), a->device);
  graph.record({a}, {out}, [divisor](Graph& g, GraphNode&, const Gradients& d) {
    return Gradients{divide_by(g, d[0], divisor)};
  });
  return out;
}

// a + term
Tensor* shift(Graph& graph, Tensor* a, double term) {
  Tensor* out =
      graph.make(elementwise(elements_of(*a), [&](Number v) { return v + term; }), a->device);
  graph.record({a}, {out}, [](Graph&, GraphNode&, const Gradients& d) { return Gradients{d[0]}; });
  return out;
}

namespace {

std::shared_ptr<const SparseCoordinates> merge(const SparseCoordinates& a,
                                               const SparseCoordinates& b) {
  if (a.sparse_dimensions != b.sparse_dimensions) throw CannotTell("mixed sparse dimensions");
  auto merged = std::make_shared<SparseCoordinates>();
  merged->sparse_dimensions = a.sparse_dimensions;
  const auto dims = static_cast<std::size_t>(a.sparse_dimensions);
  for (std::size_t d = 0; d < dims; ++d) {
    for (const SparseCoordinates* part : {&a, &b}) {
      const std::size_t entries = part->indices.size() / dims;
      const auto begin = part->indices.begin() + static_cast<std::ptrdiff_t>(d * entries);
      merged->indices.insert(merged->indices.end(), begin,
                             begin + static_cast<std::ptrdiff_t>(entries));
    }
  }
  return merged;
}

// ---- Functions of one argument
// ------------------------------------------------------------------------

using Derivative = Tensor* (*)(Graph&, Tensor* saved);

// A holomorphic function that saves its input or its output and passes back g * conj(f').
template <typename Function>
Tensor* holomorphic(Graph& graph, Tensor* a, Function function, bool saves_output,
                    Derivative derivative) {
  need_dense(*a, "a function");
  Tensor* out = graph.make(elementwise(elements_of(*a), function), a->device);
  Tensor* saved = saves_output ? out : a;
  GraphNode* node =
      graph.record({a}, {out}, [saved, derivative](Graph& g, GraphNode& n, const Gradients& d) {
        return Gradients{mul(g, d[0], conjugate(g, derivative(g, n.unpacked(saved))))};
      });
  if (node) graph.save(*node, saved);
  return out;
}

#define GRADCTS_ON_TYPE(tensor, function)                        \
  on_type(                                                       \
      *(tensor), [](Number v) -> Number { return function(v); }, \
      [](double v) -> double { return function(v); })

}  // namespace

Tensor* exponential(Graph& graph, Tensor* a) {
  return holomorphic(graph, a, GRADCTS_ON_TYPE(a, std::exp), true,
                     [](Graph&, Tensor* out) { return out; });
}

namespace {

Tensor* logarithm(Graph& graph, Tensor* a) {
  Tensor* out = graph.make(elementwise(elements_of(*a), GRADCTS_ON_TYPE(a, std::log)), a->device);
  GraphNode* node = graph.record({a}, {out}, [a](Graph& g, GraphNode& n, const Gradients& d) {
    return Gradients{div(g, d[0], conjugate(g, n.unpacked(a)))};
  });
  if (node) graph.save(*node, a);
  return out;
}

Tensor* cosine(Graph& graph, Tensor* a);

Tensor* sine(Graph& graph, Tensor* a) {
  return holomorphic(graph, a, GRADCTS_ON_TYPE(a, std::sin), false, cosine);
}

Tensor* cosine(Graph& graph, Tensor* a) {
  return holomorphic(graph, a, GRADCTS_ON_TYPE(a, std::cos), false,
                     [](Graph& g, Tensor* x) { return scale(g, sine(g, x), -1); });
}

Tensor* hyperbolic_tangent(Graph& graph, Tensor* a) {
  return holomorphic(graph, a, GRADCTS_ON_TYPE(a, std::tanh), true, [](Graph& g, Tensor* out) {
    return shift(g, scale(g, mul(g, out, out), -1), 1);
  });
}

Tensor* sigmoid(Graph& graph, Tensor* a) {
  const auto logistic = on_type(
      *a, [](Number v) -> Number { return 1.0 / (1.0 + std::exp(-v)); },
      [](double v) { return 1 / (1 + std::exp(-v)); });
  return holomorphic(graph, a, logistic, true, [](Graph& g, Tensor* out) {
    return mul(g, out, shift(g, scale(g, out, -1), 1));
  });
}

Tensor* tangent(Graph& graph, Tensor* a) {
  return holomorphic(graph, a, GRADCTS_ON_TYPE(a, std::tan), true,
                     [](Graph& g, Tensor* out) { return shift(g, mul(g, out, out), 1); });
}

// e ** a - 1 and log(1 + a), without cancellation near 0.
Tensor* exponential_less_one(Graph& graph, Tensor* a) {
  const auto function = on_type(
      *a,
      [](Number v) -> Number {
        const double half = std::sin(v.imag() / 2);
        return {std::expm1(v.real()) * std::cos(v.imag()) - 2 * half * half,
                std::exp(v.real()) * std::sin(v.imag())};
      },
      [](double v) { return std::expm1(v); });
  return holomorphic(graph, a, function, true,
                     [](Graph& g, Tensor* out) { return shift(g, out, 1); });
}

Tensor* logarithm_of_one_more(Graph& graph, Tensor* a) {
  const auto function = on_type(
      *a,
      [](Number v) -> Number {
        const bool small = std::abs(v) < 0.5;
        const double square = v.real() * (2 + v.real()) + v.imag() * v.imag();
        return {small ? std::log1p(square) / 2 : std::log(std::abs(v + 1.0)), std::arg(v + 1.0)};
      },
      [](double v) { return std::log1p(v); });
  Tensor* out = graph.make(elementwise(elements_of(*a), function), a->device);
  GraphNode* node = graph.record({a}, {out}, [a](Graph& g, GraphNode& n, const Gradients& d) {
    return Gradients{div(g, d[0], conjugate(g, shift(g, n.unpacked(a), 1)))};
  });
  if (node) graph.save(*node, a);
  return out;
}

Tensor* error_function(Graph& graph, Tensor* a) {
  if (is_complex(a->type)) throw Refused{ErrorCategory::invalid_argument};
  return holomorphic(
      graph, a, [](Number v) -> Number { return std::erf(v.real()); }, false,
      [](Graph& g, Tensor* x) {
        return scale(g, exponential(g, scale(g, mul(g, x, x), -1)), 2 * std::numbers::inv_sqrtpi);
      });
}

std::shared_ptr<const Array> mask(const Array& a, bool (*inside)(Number)) {
  auto result = std::make_shared<Array>(a);
  for (Number& value : result->values) value = inside(value) ? 1 : 0;
  return result;
}

// Of a real tensor: -1, 0 or 1, and not a number of what is none.
Tensor* sign(Graph& graph, Tensor* a) {
  const auto of = [](Number v) -> Number {
    return std::isnan(v.real()) ? v.real() : static_cast<double>((v.real() > 0) - (v.real() < 0));
  };
  Tensor* out = graph.make(elementwise(elements_of(*a), of), a->device);
  graph.record({a}, {out}, [](Graph& g, GraphNode& n, const Gradients&) {
    return Gradients{zeros(g, n.slots[0])};
  });
  return out;
}

// The modulus, which is real. Its derivative is a / |a|, and 0 at 0.
Tensor* modulus(Graph& graph, Tensor* a) {
  need_dense(*a, "abs");
  Array array = elements_of(*a);
  if (is_complex(a->type)) {
    array.type = a->type == ScalarType::complex64 ? ScalarType::float32 : ScalarType::float64;
  }
  for (Number& value : array.values) value = round_to(array.type, std::abs(value));
  Tensor* out = graph.make(std::move(array), a->device);
  GraphNode* node = graph.record({a}, {out}, [a](Graph& g, GraphNode& n, const Gradients& d) {
    Tensor* x = n.unpacked(a);
    if (!is_complex(x->type)) return Gradients{mul(g, d[0], sign(g, x))};
    const auto not_zero = mask(elements_of(*x), [](Number v) { return v != Number(0); });
    Tensor* direction = weigh(g, div(g, x, modulus(g, x)), not_zero);
    return Gradients{mul(g, d[0], direction)};
  });
  if (node) graph.save(*node, a);
  return out;
}

}  // namespace

Tensor* square_root(Graph& graph, Tensor* a) {
  Tensor* out = graph.make(elementwise(elements_of(*a), GRADCTS_ON_TYPE(a, std::sqrt)), a->device);
  GraphNode* node = graph.record({a}, {out}, [out](Graph& g, GraphNode& n, const Gradients& d) {
    return Gradients{div(g, d[0], scale(g, conjugate(g, n.unpacked(out)), 2))};
  });
  if (node) graph.save(*node, out);
  return out;
}

#undef GRADCTS_ON_TYPE

namespace {

Tensor* power(Graph& graph, Tensor* a, double exponent) {
  need_dense(*a, "power");
  const auto raise = on_type(
      *a, [=](Number v) -> Number { return std::pow(v, exponent); },
      [=](double v) { return std::pow(v, exponent); });
  Tensor* out = graph.make(elementwise(elements_of(*a), raise), a->device);
  GraphNode* node =
      graph.record({a}, {out}, [a, exponent](Graph& g, GraphNode& n, const Gradients& d) {
        if (exponent == 0) return Gradients{zeros(g, n.slots[0])};
        Tensor* slope = scale(g, power(g, n.unpacked(a), exponent - 1), exponent);
        return Gradients{mul(g, d[0], conjugate(g, slope))};
      });
  if (node) graph.save(*node, a);
  return out;
}

// Where an operand is nan, no clause says what the gradient is.
void need_no_nan(const Array& a, const char* function) {
  for (const Number& value : a.values) {
    if (value != value) throw CannotTell(std::string("the gradient of ") + function + " at nan");
  }
}

}  // namespace

Gradients relu_rule(Graph& graph, Tensor* out, const Gradients& d) {
  need_no_nan(elements_of(*out), "relu");
  graph.some_slope_is_constant = true;
  return {weigh(graph, d[0], mask(elements_of(*out), [](Number v) { return v.real() > 0; }))};
}

Number relu_of(Number v) {
  return v.real() <= 0 ? Number(0) : v;  // a nan is neither
}

namespace {

Tensor* relu(Graph& graph, Tensor* a) {
  need_dense(*a, "relu");
  Tensor* out = graph.make(elementwise(elements_of(*a), relu_of), a->device);
  GraphNode* node = graph.record({a}, {out}, [out](Graph& g, GraphNode& n, const Gradients& d) {
    return relu_rule(g, n.unpacked(out), d);
  });
  if (node) graph.save(*node, out);
  return out;
}

Tensor* clamp(Graph& graph, Tensor* a, double low, double high) {
  need_dense(*a, "clamp");
  Tensor* out = graph.make(
      elementwise(
          elements_of(*a),
          [=](Number v) { return v != v ? v : Number(std::min(std::max(v.real(), low), high)); }),
      a->device);
  GraphNode* node = graph.record({a}, {out}, [=](Graph& g, GraphNode& n, const Gradients& d) {
    const Array x = elements_of(*n.unpacked(a));
    auto inside = std::make_shared<Array>(elementwise(
        x, [=](Number v) { return Number(low <= v.real() && v.real() <= high ? 1 : 0); }));
    return Gradients{weigh(g, d[0], inside)};
  });
  if (node) graph.save(*node, a);
  return out;
}

// ---- Functions of two
// ---------------------------------------------------------------------------------

}  // namespace

Tensor* sub(Graph& graph, Tensor* a, Tensor* b) {
  need_dense(*a, "sub");
  need_dense(*b, "sub");
  Tensor* out = binary(graph, a, b, [](Number x, Number y) { return x - y; });
  graph.record({a, b}, {out}, [a, b](Graph& g, GraphNode& n, const Gradients& d) {
    return Gradients{n.edges[0].node ? fit(g, d[0], *a) : nullptr,
                     n.edges[1].node ? fit(g, neg(g, d[0]), *b) : nullptr};
  });
  return out;
}

Tensor* div(Graph& graph, Tensor* a, Tensor* b) {
  need_dense(*a, "div");
  need_dense(*b, "div");
  Tensor* out = binary(graph, a, b, over);
  GraphNode* node = graph.record({a, b}, {out}, [a, b](Graph& g, GraphNode& n, const Gradients& d) {
    Gradients result(2, nullptr);
    if (n.edges[0].node) result[0] = fit(g, div(g, d[0], conjugate(g, n.unpacked(b))), *a);
    if (n.edges[1].node) {
      Tensor* slope = div(g, div(g, n.unpacked(a), n.unpacked(b)), n.unpacked(b));
      result[1] = fit(g, scale(g, mul(g, d[0], conjugate(g, slope)), -1), *b);
    }
    return result;
  });
  if (node) graph.save(*node, b);
  if (node && node->edges[1].node) graph.save(*node, a);
  return out;
}

namespace {

// `a`, but 1 where the mask is 1.
Tensor* one_where(Graph& graph, Tensor* a, const Array& mask) {
  const auto others = std::make_shared<Array>(
      elementwise(mask, [](Number v) { return Number(v.real() == 0 ? 1 : 0); }));
  Array ones = mask;
  ones.type = a->type;
  return add(graph, weigh(graph, a, others), graph.make(std::move(ones), a->device));
}

// 1 where a is 0 and the condition holds for b.
Array mask_at_zero(const Tensor& a, const Tensor& b, bool (*condition)(double)) {
  const Shape shape = broadcast_shape(a.shape, b.shape);
  return elementwise(
      ScalarType::float64, broadcast(elements_of(a), shape), broadcast(elements_of(b), shape),
      [=](Number x, Number y) { return Number(x == Number(0) && condition(y.real()) ? 1 : 0); });
}

// a ** b. By a: b * a ** (b - 1), where 0 ** 0 has the slope 0; by b: a ** b * log(a), but 0 where
// a is 0 and b is not negative.
Tensor* pow(Graph& graph, Tensor* a, Tensor* b) {
  need_dense(*a, "pow");
  need_dense(*b, "pow");
  const bool complex_type = is_complex(a->type) || is_complex(b->type);
  Tensor* out = binary(graph, a, b, [=](Number x, Number y) -> Number {
    if (y == Number(0)) return 1;
    if (!complex_type) return std::pow(x.real(), y.real());
    return x == Number(0) && y.real() > 0 ? Number(0) : std::pow(x, y);
  });
  GraphNode* node = graph.record({a, b}, {out}, [=](Graph& g, GraphNode& n, const Gradients& d) {
    Tensor* x = n.unpacked(a);
    Tensor* y = n.unpacked(b);
    Gradients result(2, nullptr);
    if (n.edges[0].node) {
      Tensor* base = one_where(g, x, mask_at_zero(*x, *y, [](double v) { return v == 0; }));
      Tensor* slope = mul(g, y, pow(g, base, shift(g, y, -1)));
      result[0] = fit(g, mul(g, d[0], conjugate(g, slope)), *a);
    }
    if (n.edges[1].node) {
      Tensor* base = one_where(g, x, mask_at_zero(*x, *y, [](double v) { return v >= 0; }));
      Tensor* slope = mul(g, n.unpacked(out), logarithm(g, base));
      result[1] = fit(g, mul(g, d[0], conjugate(g, slope)), *b);
    }
    return result;
  });
  if (node) graph.save(*node, a);
  if (node) graph.save(*node, b);
  if (node && node->edges[1].node) graph.save(*node, out);
  return out;
}

// How much of the gradient goes to an operand: all where it is taken, half where both are equal.
double share(double own, double other, bool largest) {
  if (own == other) return 0.5;
  return (own > other) == largest ? 1 : 0;
}

Tensor* extremum(Graph& graph, Tensor* a, Tensor* b, bool largest) {
  need_dense(*a, "maximum or minimum");
  need_dense(*b, "maximum or minimum");
  Tensor* out = binary(graph, a, b, [=](Number x, Number y) {
    if (x != x || y != y) return x + y;
    return share(x.real(), y.real(), largest) == 0 ? y : x;
  });
  const auto share_of = [=](const Tensor& own, const Tensor& other) {
    const Shape shape = broadcast_shape(own.shape, other.shape);
    return std::make_shared<Array>(elementwise(
        ScalarType::float64, broadcast(elements_of(own), shape),
        broadcast(elements_of(other), shape),
        [=](Number x, Number y) { return Number(share(x.real(), y.real(), largest)); }));
  };
  GraphNode* node = graph.record({a, b}, {out}, [=](Graph& g, GraphNode& n, const Gradients& d) {
    const Tensor& x = *n.unpacked(a);
    const Tensor& y = *n.unpacked(b);
    need_no_nan(elements_of(x), "maximum or minimum");
    need_no_nan(elements_of(y), "maximum or minimum");
    return Gradients{n.edges[0].node ? fit(g, weigh(g, d[0], share_of(x, y)), *a) : nullptr,
                     n.edges[1].node ? fit(g, weigh(g, d[0], share_of(y, x)), *b) : nullptr};
  });
  if (node) graph.save(*node, a);
  if (node) graph.save(*node, b);
  return out;
}

Tensor* where(Graph& graph, Tensor* condition, Tensor* a, Tensor* b) {
  const auto chosen = std::make_shared<Array>(elements_of(*condition));
  chosen->type = ScalarType::float64;
  const auto others = std::make_shared<Array>(
      elementwise(*chosen, [](Number v) { return Number(v.real() == 0 ? 1 : 0); }));
  const Shape shape = broadcast_shape(condition->shape, broadcast_shape(a->shape, b->shape));
  Array left = elements_of(*a);
  Array right = elements_of(*b);
  const ScalarType type = promote(left, right);
  left = broadcast(left, shape);
  right = broadcast(right, shape);
  const Array choice = broadcast(*chosen, shape);
  for (std::size_t i = 0; i < left.values.size(); ++i) {
    left.values[i] =
        round_to(type, choice.values[i].real() != 0 ? left.values[i] : right.values[i]);
  }
  left.type = type;
  Tensor* out = graph.make(std::move(left), common_device(*a, *b));
  GraphNode* node = graph.record(
      {a, b}, {out}, [a, b, chosen, others](Graph& g, GraphNode& n, const Gradients& d) {
        return Gradients{n.edges[0].node ? fit(g, weigh(g, d[0], chosen), *a) : nullptr,
                         n.edges[1].node ? fit(g, weigh(g, d[0], others), *b) : nullptr};
      });
  if (node) graph.save(*node, condition);
  return out;
}

// The last two dimensions swapped.
Tensor* transposed(Graph& graph, Tensor* a) {
  const auto rank = static_cast<std::int64_t>(a->shape.size());
  Shape shape = a->shape;
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return take(graph, a, transpose_map(a->shape, rank - 2, rank - 1), shape);
}

// Of two matrices, or of two batches of them.
Tensor* matrix_product(Graph& graph, Tensor* a, Tensor* b, std::size_t rank) {
  need_dense(*a, "a matrix product");
  need_dense(*b, "a matrix product");
  if (a->shape.size() != rank) throw Refused{ErrorCategory::invalid_argument};
  Tensor* out = graph.make(matrix_product(elements_of(*a), elements_of(*b)), common_device(*a, *b));
  GraphNode* node = graph.record({a, b}, {out}, [=](Graph& g, GraphNode& n, const Gradients& d) {
    Gradients result(2, nullptr);
    if (n.edges[0].node) {
      Tensor* right = transposed(g, conjugate(g, n.unpacked(b)));
      result[0] = fit(g, matrix_product(g, d[0], right, rank), *a);
    }
    if (n.edges[1].node) {
      Tensor* left = transposed(g, conjugate(g, n.unpacked(a)));
      result[1] = fit(g, matrix_product(g, left, d[0], rank), *b);
    }
    return result;
  });
  if (node && node->edges[0].node) graph.save(*node, b);
  if (node && node->edges[1].node) graph.save(*node, a);
  return out;
}

}  // namespace

// ---- Arithmetic
// -----------------------------------------------------------------------------------------

Tensor* add(Graph& graph, Tensor* a, Tensor* b) {
  Tensor* out = binary(graph, a, b, [](Number x, Number y) { return x + y; });
  if (a->sparse && b->sparse) out->sparse = merge(*a->sparse, *b->sparse);
  graph.record({a, b}, {out}, [a, b](Graph& g, GraphNode& n, const Gradients& d) {
    return Gradients{n.edges[0].node ? fit(g, d[0], *a) : nullptr,
                     n.edges[1].node ? fit(g, d[0], *b) : nullptr};
  });
  return out;
}

Tensor* mul(Graph& graph, Tensor* a, Tensor* b) {
  need_dense(*a, "mul");
  need_dense(*b, "mul");
  Tensor* out = binary(graph, a, b, times);
  GraphNode* node = graph.record({a, b}, {out}, [a, b](Graph& g, GraphNode& n, const Gradients& d) {
    return Gradients{
        n.edges[0].node ? fit(g, mul(g, d[0], conjugate(g, n.unpacked(b))), *a) : nullptr,
        n.edges[1].node ? fit(g, mul(g, d[0], conjugate(g, n.unpacked(a))), *b) : nullptr};
  });
  if (node && node->edges[0].node) graph.save(*node, b);
  if (node && node->edges[1].node) graph.save(*node, a);
  return out;
}

Tensor* scale(Graph& graph, Tensor* a, double factor) {
  Tensor* out =
      graph.make(elementwise(elements_of(*a), [&](Number v) { return v * factor; }), a->device);
  out->sparse = a->sparse;
  graph.record({a}, {out}, [factor](Graph& g, GraphNode&, const Gradients& d) {
    Tensor* gradient = scale(g, d[0], factor);
    // Engines that make a tensor of the factor here save it.
    if (gradient->origin.node) gradient->origin.node->may_save = true;
    return Gradients{gradient};
  });
  return out;
}

Tensor* neg(Graph& graph, Tensor* a) {
  Tensor* out = graph.make(elementwise(elements_of(*a), std::negate<Number>()), a->device);
  out->sparse = a->sparse;
  graph.record({a}, {out},
               [](Graph& g, GraphNode&, const Gradients& d) { return Gradients{neg(g, d[0])}; });
  return out;
}

// ---- Copies and conversions
// -----------------------------------------------------------------------------

Tensor* cast(Graph& graph, Tensor* a, ScalarType type) {
  if (a->type == type) return a;
  Array array = elements_of(*a);
  array.type = type;
  round_to_type(array);
  Tensor* out = graph.make(std::move(array), a->device);
  out->sparse = a->sparse;
  const ScalarType from = a->type;
  if (!is_differentiable(type)) return out;
  graph.record({a}, {out}, [from](Graph& g, GraphNode&, const Gradients& d) {
    return Gradients{cast(g, d[0], from)};
  });
  return out;
}

namespace {

Tensor* copy(Graph& graph, Tensor* a) {
  Tensor* out = graph.make(elements_of(*a), a->device);
  out->sparse = a->sparse;
  return out;
}

}  // namespace

Tensor* clone(Graph& graph, Tensor* a) {
  Tensor* out = copy(graph, a);
  graph.record({a}, {out}, [](Graph&, GraphNode&, const Gradients& d) { return Gradients{d[0]}; });
  return out;
}

Tensor* to_device(Graph& graph, Tensor* a, Device device) {
  Tensor* out = copy(graph, a);
  out->device = device;
  const Device from = a->device;
  graph.record({a}, {out}, [from](Graph& g, GraphNode&, const Gradients& d) {
    return Gradients{to_device(g, d[0], from)};
  });
  return out;
}

Tensor* zeros(Graph& graph, const Slot& like) {
  return graph.make(
      Array{like.type, like.shape, Numbers(static_cast<std::size_t>(count(like.shape)))},
      like.device);
}

// ---- Rearrangements
// ---------------------------------------------------------------------------------------

Tensor* take(Graph& graph, Tensor* a, const Map& map, const Shape& shape) {
  need_dense(*a, "a change of shape");
  Tensor* out = graph.make(gather(elements_of(*a), *map, shape), a->device);
  const Shape from = a->shape;
  graph.record({a}, {out}, [map, from](Graph& g, GraphNode&, const Gradients& d) {
    return Gradients{put(g, d[0], map, from)};
  });
  return out;
}

Tensor* put(Graph& graph, Tensor* a, const Map& map, const Shape& shape) {
  need_dense(*a, "a change of shape");
  Tensor* out = graph.make(scatter(elements_of(*a), *map, shape), a->device);
  const Shape from = a->shape;
  graph.record({a}, {out}, [map, from](Graph& g, GraphNode&, const Gradients& d) {
    return Gradients{take(g, d[0], map, from)};
  });
  return out;
}

Tensor* expand(Graph& graph, Tensor* a, const Shape& shape) {
  if (!expands_to(a->shape, shape)) throw CannotTell("a shape that does not expand as asked");
  return take(graph, a, broadcast_map(a->shape, shape), shape);
}

Tensor* sum_to(Graph& graph, Tensor* a, const Shape& shape) {
  if (a->shape == shape) return a;
  return put(graph, a, broadcast_map(shape, a->shape), shape);
}

namespace {

const IntegerList& list(const Attribute& attribute) {
  return std::get<IntegerList>(attribute);
}
std::int64_t integer(const Attribute& attribute) {
  return std::get<std::int64_t>(attribute);
}

Tensor* concatenate(Graph& graph, const Gradients& inputs, std::int64_t dim) {
  const std::size_t d = dimension(dim, inputs[0]->shape.size());
  Shape shape = inputs[0]->shape;
  shape[d] = 0;
  for (const Tensor* input : inputs) shape[d] += input->shape[d];
  Array out{inputs[0]->type, shape, Numbers(static_cast<std::size_t>(count(shape)))};
  std::vector<Map> maps;
  std::int64_t begin = 0;
  for (const Tensor* input : inputs) {
    need_dense(*input, "cat");
    if (input->type != out.type) throw CannotTell("cat of several types");
    const std::int64_t end = begin + input->shape[d];
    maps.push_back(slice_map(shape, static_cast<std::int64_t>(d), begin, end, 1));
    const Array piece = elements_of(*input);
    for (std::size_t i = 0; i < piece.values.size(); ++i) {
      out.values[static_cast<std::size_t>((*maps.back())[i])] = piece.values[i];
    }
    begin = end;
  }
  Tensor* result = graph.make(std::move(out), inputs[0]->device);
  graph.record(inputs, {result},
               [inputs, maps](Graph& g, GraphNode& n, const Gradients& gradients) {
                 Gradients parts(inputs.size(), nullptr);
                 for (std::size_t i = 0; i < inputs.size(); ++i) {
                   if (n.edges[i].node) parts[i] = take(g, gradients[0], maps[i], inputs[i]->shape);
                 }
                 return parts;
               });
  return result;
}

}  // namespace

std::vector<bool> reduced_dimensions(const Shape& shape, const Attribute& dims) {
  std::vector<bool> reduced(shape.size(), std::holds_alternative<std::monostate>(dims));
  if (const auto* chosen = std::get_if<IntegerList>(&dims)) {
    for (std::int64_t dim : *chosen) reduced[dimension(dim, shape.size())] = true;
  }
  return reduced;
}

Shape reduced_shape(const Shape& shape, const std::vector<bool>& reduced, bool keep) {
  Shape result;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!reduced[d] || keep) result.push_back(reduced[d] ? 1 : shape[d]);
  }
  return result;
}

namespace {

// The sum over dimensions; `divisor` makes it a mean.
Tensor* reduce(Graph& graph, Tensor* a, const Attribute& dims, const Attribute& keep, bool mean) {
  need_dense(*a, "a reduction");
  const std::vector<bool> reduced = reduced_dimensions(a->shape, dims);
  const bool keep_dims = std::holds_alternative<bool>(keep) && std::get<bool>(keep);
  const Shape shape = reduced_shape(a->shape, reduced, keep_dims);
  double divisor = 1;
  for (std::size_t d = 0; d < a->shape.size(); ++d) {
    if (reduced[d]) divisor *= static_cast<double>(a->shape[d]);
  }
  if (!mean) divisor = 1;
  const Map map = reduction_map(a->shape, reduced);
  Array sum = scatter(elements_of(*a), *map, shape);
  Tensor* out = graph.make(elementwise(sum, [&](Number v) { return v / divisor; }), a->device);
  const Shape from = a->shape;
  graph.record({a}, {out}, [map, from, divisor](Graph& g, GraphNode&, const Gradients& d) {
    Tensor* spread = take(g, d[0], map, from);
    return Gradients{divisor == 1 ? spread : divide_by(g, spread, divisor)};
  });
  return out;
}

// Whether a conversion to what a tensor is already makes a node, a copy or nothing is left free.
Tensor* cast_to_another(Graph& graph, Tensor* a, ScalarType type) {
  if (a->type == type) throw CannotTell("a cast to the type that the tensor has");
  return cast(graph, a, type);
}

Tensor* move_elsewhere(Graph& graph, Tensor* a, Device device) {
  if (a->device == device) throw CannotTell("a move to the device where the tensor is");
  return to_device(graph, a, device);
}

}  // namespace

double number(const Attribute& attribute, double otherwise) {
  if (const auto* integer = std::get_if<std::int64_t>(&attribute)) {
    return static_cast<double>(*integer);
  }
  const auto* value = std::get_if<double>(&attribute);
  return value ? *value : otherwise;
}

namespace {

bool flag(const Attribute& attribute) {
  const auto* value = std::get_if<bool>(&attribute);
  return value && *value;
}

Tensor* apply_to_one(Graph& graph, const Node& node, const Gradients& in) {
  const auto& attributes = node.attributes;
  switch (node.operation) {
    case Operation::add:
      return add(graph, in[0], in[1]);
    case Operation::sub:
      return sub(graph, in[0], in[1]);
    case Operation::mul:
      return mul(graph, in[0], in[1]);
    case Operation::div:
      return div(graph, in[0], in[1]);
    case Operation::neg:
      return neg(graph, in[0]);
    case Operation::scale:
      return scale(graph, in[0], number(attributes[0], 1));
    case Operation::power:
      return power(graph, in[0], number(attributes[0], 1));
    case Operation::pow:
      return pow(graph, in[0], in[1]);
    case Operation::maximum:
      return extremum(graph, in[0], in[1], true);
    case Operation::minimum:
      return extremum(graph, in[0], in[1], false);
    case Operation::where:
      return where(graph, in[0], in[1], in[2]);
    case Operation::clamp:
      return clamp(graph, in[0], number(attributes[0], -INFINITY), number(attributes[1], INFINITY));
    case Operation::sum:
      return reduce(graph, in[0], attributes[0], attributes[1], false);
    case Operation::mean:
      return reduce(graph, in[0], attributes[0], attributes[1], true);
    case Operation::mm:
      return matrix_product(graph, in[0], in[1], 2);
    case Operation::bmm:
      return matrix_product(graph, in[0], in[1], 3);
    case Operation::amax:
      return extreme(graph, in[0], attributes[0], flag(attributes[1]), true);
    case Operation::amin:
      return extreme(graph, in[0], attributes[0], flag(attributes[1]), false);
    case Operation::logsumexp:
      return logsumexp(graph, in[0], attributes[0], flag(attributes[1]));
    case Operation::softmax:
      return softmax(graph, in[0], integer(attributes[0]));
    case Operation::log_softmax:
      return log_softmax(graph, in[0], integer(attributes[0]));
    case Operation::layer_norm:
      return layer_norm(graph, in[0], in[1], in[2], number(attributes[0], 0));
    case Operation::cumsum:
      return running_sum(graph, in[0], dimension(integer(attributes[0]), in[0]->shape.size()),
                         false);
    case Operation::flip:
      return flip(graph, in[0], reduced_dimensions(in[0]->shape, attributes[0]));
    case Operation::gather:
      return gather(graph, in[0], integer(attributes[0]), in[1]);
    case Operation::scatter_add:
      return scatter_add(graph, in[0], integer(attributes[0]), in[1], in[2]);
    case Operation::index_select:
      return index_select(graph, in[0], integer(attributes[0]), in[1]);
    case Operation::embedding:
      return embedding(graph, in[0], in[1], flag(attributes[0]));
    case Operation::view_as_real:
      return view_as_real(graph, in[0]);
    case Operation::view_as_complex:
      return view_as_complex(graph, in[0]);
    case Operation::conj: {
      Tensor* out = conjugate(graph, in[0]);
      return out == in[0] ? clone(graph, out) : out;
    }
    case Operation::view:
      return reshape(graph, in[0], list(attributes[0]));
    case Operation::expand:
      return expand_view(graph, in[0], list(attributes[0]));
    case Operation::transpose:
      return transpose(graph, in[0], integer(attributes[0]), integer(attributes[1]));
    case Operation::select:
      return select(graph, in[0], integer(attributes[0]), integer(attributes[1]));
    case Operation::slice: {
      const auto* step = std::get_if<std::int64_t>(&attributes[3]);
      return slice(graph, in[0], integer(attributes[0]), integer(attributes[1]),
                   integer(attributes[2]), step ? *step : 1);
    }
    case Operation::cat:
      return concatenate(graph, in, integer(attributes[0]));
    case Operation::clone:
      return clone(graph, in[0]);
    case Operation::detach:
      return graph.alias(*in[0]);
    case Operation::exp:
      return exponential(graph, in[0]);
    case Operation::log:
      return logarithm(graph, in[0]);
    case Operation::expm1:
      return exponential_less_one(graph, in[0]);
    case Operation::log1p:
      return logarithm_of_one_more(graph, in[0]);
    case Operation::sin:
      return sine(graph, in[0]);
    case Operation::cos:
      return cosine(graph, in[0]);
    case Operation::tan:
      return tangent(graph, in[0]);
    case Operation::tanh:
      return hyperbolic_tangent(graph, in[0]);
    case Operation::sigmoid:
      return sigmoid(graph, in[0]);
    case Operation::erf:
      return error_function(graph, in[0]);
    case Operation::abs:
      return modulus(graph, in[0]);
    case Operation::relu:
      return relu(graph, in[0]);
    case Operation::sqrt:
      return square_root(graph, in[0]);
    case Operation::cast:
      return cast_to_another(graph, in[0], std::get<ScalarType>(attributes[0]));
    case Operation::to_device:
      return move_elsewhere(graph, in[0], std::get<Device>(attributes[0]));
    default:
      throw CannotTell("an operation without a rule");
  }
}

}  // namespace

Gradients apply(Graph& graph, const Node& node, const Gradients& inputs) {
  if (node.operation == Operation::unbind) {
    return unbind(graph, inputs[0], std::get<std::int64_t>(node.attributes[0]));
  }
  if (spec_of(node.operation).in_place) return {apply_in_place(graph, node, inputs)};
  return {apply_to_one(graph, node, inputs)};
}

}  // namespace gradcts::oracle

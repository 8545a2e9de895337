// Elementwise kernels: loops over contiguous elements (staging.h makes them so). Tested by
// kernels_test.cpp.
#include <cmath>

#include "reference_engine/error.h"
#include "reference_engine/tensor/kernels.h"
#include "reference_engine/tensor/staging.h"

namespace gradcts::reference::kernels {
namespace {

void require(bool condition, const char* what, ScalarType type) {
  if (condition) return;
  throw Error(ErrorCategory::invalid_argument,
              std::string(what) + " does not take elements of type " + to_string(type));
}

// Functions see half types as float.
template <typename T, typename Function>
void map(const T* a, T* result, std::int64_t count, Function function) {
  using C = ComputeType<T>;
  for (std::int64_t i = 0; i < count; ++i) {
    result[i] = static_cast<T>(function(static_cast<C>(a[i])));
  }
}

template <typename T, typename Function>
void map(const T* a, const T* b, T* result, std::int64_t count, Function function) {
  using C = ComputeType<T>;
  for (std::int64_t i = 0; i < count; ++i) {
    result[i] = static_cast<T>(function(static_cast<C>(a[i]), static_cast<C>(b[i])));
  }
}

// ---- One operand -------------------------------------------------------------------------------

template <typename C>
C sigmoid_of(C x) {
  return C(1) / (C(1) + std::exp(-x));
}

template <typename C>
C sign_of(C x) {
  if constexpr (is_complex_element<C>) {
    return x == C(0) ? C(0) : x / std::abs(x);
  } else {
    return x != x ? x : C((x > C(0)) - (x < C(0)));
  }
}

// e ** z - 1 and log(1 + z) keep their digits near 0, in both parts.
template <typename C>
C expm1_of(C z) {
  if constexpr (is_complex_element<C>) {
    using Part = typename C::value_type;
    const Part half = std::sin(z.imag() / 2);
    return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half,
            std::exp(z.real()) * std::sin(z.imag())};
  } else {
    return std::expm1(z);
  }
}

template <typename C>
C log1p_of(C z) {
  if constexpr (is_complex_element<C>) {
    using Part = typename C::value_type;
    const Part x = z.real();
    const Part y = z.imag();
    const bool near = std::abs(x) < Part(0.5) && std::abs(y) < Part(0.5);
    const Part modulus =
        near ? std::log1p(x * (2 + x) + y * y) / 2 : std::log(std::hypot(1 + x, y));
    return {modulus, std::atan2(y, 1 + x)};
  } else {
    return std::log1p(z);
  }
}

template <typename T>
void unary_of_any_field(Unary function, const T* a, T* r, std::int64_t n) {
  switch (function) {
    case Unary::neg:
      return map(a, r, n, [](auto x) { return -x; });
    case Unary::exp:
      return map(a, r, n, [](auto x) { return std::exp(x); });
    case Unary::log:
      return map(a, r, n, [](auto x) { return std::log(x); });
    case Unary::expm1:
      return map(a, r, n, [](auto x) { return expm1_of(x); });
    case Unary::log1p:
      return map(a, r, n, [](auto x) { return log1p_of(x); });
    case Unary::sin:
      return map(a, r, n, [](auto x) { return std::sin(x); });
    case Unary::cos:
      return map(a, r, n, [](auto x) { return std::cos(x); });
    case Unary::tan:
      return map(a, r, n, [](auto x) { return std::tan(x); });
    case Unary::tanh:
      return map(a, r, n, [](auto x) { return std::tanh(x); });
    case Unary::sigmoid:
      return map(a, r, n, [](auto x) { return sigmoid_of(x); });
    case Unary::sqrt:
      return map(a, r, n, [](auto x) { return std::sqrt(x); });
    case Unary::sign:
      return map(a, r, n, [](auto x) { return sign_of(x); });
    case Unary::reciprocal:
      return map(a, r, n, [](auto x) { return decltype(x)(1) / x; });
    case Unary::erf:
    case Unary::relu:
    case Unary::abs:
    case Unary::conj:
    case Unary::real:
    case Unary::imag:
      break;
  }
}

template <typename T>
void unary_real(Unary function, const T* a, T* r, std::int64_t n) {
  switch (function) {
    case Unary::erf:
      return map(a, r, n, [](auto x) { return std::erf(x); });
    case Unary::relu:
      return map(a, r, n, [](auto x) { return x < decltype(x)(0) ? decltype(x)(0) : x; });
    case Unary::abs:
      return map(a, r, n, [](auto x) { return std::abs(x); });
    case Unary::conj:
    case Unary::real:
      return map(a, r, n, [](auto x) { return x; });
    case Unary::imag:
      return map(a, r, n, [](auto x) { return decltype(x)(0); });
    default:
      return unary_of_any_field(function, a, r, n);
  }
}

template <typename T>
void unary_complex(Unary function, const T* a, T* r, std::int64_t n) {
  switch (function) {
    case Unary::abs:
      return map(a, r, n, [](T x) { return T(std::abs(x)); });
    case Unary::conj:
      return map(a, r, n, [](T x) { return std::conj(x); });
    case Unary::real:
      return map(a, r, n, [](T x) { return T(x.real()); });
    case Unary::imag:
      return map(a, r, n, [](T x) { return T(x.imag()); });
    default:
      return unary_of_any_field(function, a, r, n);
  }
}

template <typename T>
void unary_loop(Unary function, const T* a, T* r, std::int64_t n) {
  if constexpr (is_complex_element<T>) {
    unary_complex(function, a, r, n);
  } else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, bool>) {
    map(a, r, n, [](T x) { return static_cast<T>(-x); });
  } else {
    unary_real(function, a, r, n);
  }
}

void check_unary(Unary function, ScalarType type) {
  require(type != ScalarType::boolean, "arithmetic", type);
  require(is_differentiable(type) || function == Unary::neg, "a function of real numbers", type);
  require(!is_complex(type) || function != Unary::relu, "relu", type);
  require(!is_complex(type) || function != Unary::erf, "erf", type);
}

void run_unary(Unary function, const Tensor& result, const Tensor& a) {
  Operand r(result), x(a);
  launch("unary", a.device(), {&r, &x}, [=] {
    visit_type(x.type, [&]<typename T>(std::type_identity<T>) {
      StagedInput<T> input(x, x.shape);
      StagedOutput<T> output(r);
      unary_loop<T>(function, input.elements(), output.elements(), r.count);
      output.finish();
    });
  });
}

bool gives_real(Unary function) {
  return function == Unary::abs || function == Unary::real || function == Unary::imag;
}

// ---- Two operands ------------------------------------------------------------------------------

template <typename C>
C maximum_of(C x, C y) {
  return x != x || x > y ? x : y;  // NaN wins
}

template <typename C>
C minimum_of(C x, C y) {
  return x != x || x < y ? x : y;
}

// 0 ** 0 is 1, also for complex numbers.
template <typename C>
C power_of(C x, C y) {
  if constexpr (is_complex_element<C>) {
    if (y == C(0)) return C(1);
    if (x == C(0) && y.real() > 0) return C(0);
  }
  return std::pow(x, y);
}

template <typename T>
void binary_ring(Binary function, const T* a, const T* b, T* r, std::int64_t n) {
  switch (function) {
    case Binary::add:
      return map(a, b, r, n, [](auto x, auto y) { return x + y; });
    case Binary::sub:
      return map(a, b, r, n, [](auto x, auto y) { return x - y; });
    case Binary::mul:
      return map(a, b, r, n, [](auto x, auto y) { return x * y; });
    default:
      return;
  }
}

template <typename T>
void binary_loop(Binary function, const T* a, const T* b, T* r, std::int64_t n) {
  constexpr bool ordered = !is_complex_element<T>;
  constexpr bool field = !std::is_same_v<T, std::int64_t> && !std::is_same_v<T, bool>;
  if constexpr (ordered) {
    if (function == Binary::maximum) {
      return map(a, b, r, n, [](auto x, auto y) { return maximum_of(x, y); });
    }
    if (function == Binary::minimum) {
      return map(a, b, r, n, [](auto x, auto y) { return minimum_of(x, y); });
    }
  }
  if constexpr (field) {
    if (function == Binary::div) return map(a, b, r, n, [](auto x, auto y) { return x / y; });
    if (function == Binary::pow) {
      return map(a, b, r, n, [](auto x, auto y) { return power_of(x, y); });
    }
  }
  binary_ring(function, a, b, r, n);
}

void check_binary(Binary function, const Tensor& a, const Tensor& b, ScalarType type) {
  require(type != ScalarType::boolean, "arithmetic", type);
  const bool needs_order = function == Binary::maximum || function == Binary::minimum;
  require(!is_complex(type) || !needs_order, "maximum and minimum", type);
  const bool needs_field = function == Binary::div || function == Binary::pow;
  require(is_differentiable(type) || !needs_field, "division", type);
  if (a.device() == b.device() && !a.is_sparse() && !b.is_sparse()) return;
  throw Error(ErrorCategory::invalid_argument,
              "operands " + describe(a) + " and " + describe(b) + " do not go together");
}

Elementwise::Function kernel_function(Binary function) {
  switch (function) {
    case Binary::add:
      return Elementwise::Function::add;
    case Binary::sub:
      return Elementwise::Function::sub;
    case Binary::mul:
      return Elementwise::Function::mul;
    default:
      return Elementwise::Function::none;
  }
}

void run_binary(Binary function, ScalarType type, const Tensor& result, const Tensor& a,
                const Tensor& b) {
  Operand r(result), x(a), y(b);
  const auto kernel = [=] {
    visit_type(type, [&]<typename T>(std::type_identity<T>) {
      StagedInput<T> left(x, r.shape);
      StagedInput<T> right(y, r.shape);
      StagedOutput<T> output(r);
      binary_loop<T>(function, left.elements(), right.elements(), output.elements(), r.count);
      output.finish();
    });
  };
  launch("binary", result.device(), {&r, &x, &y}, kernel, {kernel_function(function)});
}

template <typename T>
void add_elements(const Tensor& a, const Tensor& b) {
  auto* x = static_cast<T*>(a.storage().data()) + a.offset();
  const auto* y = static_cast<const T*>(b.storage().data()) + b.offset();
  for (std::int64_t i = 0, n = a.element_count(); i < n; ++i) x[i] += y[i];
}

// The sum of an input buffer, nearly always: no staging, no copies of shapes.
bool try_add_in_place(const Tensor& a, const Tensor& b) {
  if (!a.device().is_cpu() || !b.device().is_cpu() || a.type() != b.type()) return false;
  if (a.is_sparse() || b.is_sparse() || !a.is_contiguous() || !b.is_contiguous()) return false;
  if (a.shape() != b.shape()) return false;
  if (a.type() == ScalarType::float32) {
    add_elements<float>(a, b);
  } else if (a.type() == ScalarType::float64) {
    add_elements<double>(a, b);
  } else {
    return false;
  }
  a.bump_version();
  return true;
}

}  // namespace

void throw_undefined() {
  throw Error(ErrorCategory::invalid_argument, "an operand of an operation is undefined");
}

Tensor unary(Unary function, const Tensor& a) {
  check_defined(a);
  check_unary(function, a.type());
  Tensor result = empty(a.shape(), a.type(), a.device());
  run_unary(function, result, a);
  return gives_real(function) ? cast(result, real_type(a.type())) : result;
}

void unary_(Unary function, const Tensor& a) {
  check_defined(a);
  check_unary(function, a.type());
  run_unary(function, a, a);
  a.bump_version();
}

Tensor binary(Binary function, const Tensor& a, const Tensor& b) {
  check_defined(a, b);
  const ScalarType type = promote(a.type(), b.type());
  check_binary(function, a, b, type);
  Tensor result = empty(broadcast(a.shape(), b.shape()), type, a.device());
  run_binary(function, type, result, a, b);
  return result;
}

void binary_(Binary function, const Tensor& a, const Tensor& b) {
  check_defined(a, b);
  if (function == Binary::add && try_add_in_place(a, b)) return;
  const ScalarType type = promote(a.type(), b.type());
  check_binary(function, a, b, type);
  if (!is_expandable_to(b.shape(), a.shape())) {
    throw Error(ErrorCategory::invalid_argument, "an in-place change of shape " +
                                                     to_string(a.shape()) + " by shape " +
                                                     to_string(b.shape()));
  }
  run_binary(function, type, a, a, b);
  a.bump_version();
}

Tensor compare(Compare function, const Tensor& a, const Tensor& b) {
  check_defined(a, b);
  const ScalarType type = promote(a.type(), b.type());
  require(!is_complex(type) || function == Compare::equal, "an order", type);
  Tensor result = empty(broadcast(a.shape(), b.shape()), ScalarType::boolean, a.device());
  Operand r(result), x(a), y(b);
  launch("compare", a.device(), {&r, &x, &y}, [=] {
    visit_type(type, [&]<typename T>(std::type_identity<T>) {
      StagedInput<T> left(x, r.shape);
      StagedInput<T> right(y, r.shape);
      for (std::int64_t i = 0; i < r.count; ++i) {
        const T u = left.elements()[i];
        const T v = right.elements()[i];
        bool holds = u == v;
        if constexpr (!is_complex_element<T>) {
          if (function == Compare::less) holds = u < v;
          if (function == Compare::less_equal) holds = u <= v;
        }
        r.elements<bool>()[i] = holds;
      }
    });
  });
  return result;
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  check_defined(condition);
  check_defined(a, b);
  require(condition.type() == ScalarType::boolean, "a condition", condition.type());
  const ScalarType type = promote(a.type(), b.type());
  const Shape shape = broadcast(condition.shape(), broadcast(a.shape(), b.shape()));
  Tensor result = empty(shape, type, a.device());
  Operand r(result), c(condition), x(a), y(b);
  launch("where", a.device(), {&r, &c, &x, &y}, [=] {
    visit_type(type, [&]<typename T>(std::type_identity<T>) {
      StagedInput<bool> choose(c, r.shape);
      StagedInput<T> left(x, r.shape);
      StagedInput<T> right(y, r.shape);
      for (std::int64_t i = 0; i < r.count; ++i) {
        r.elements<T>()[i] = choose.elements()[i] ? left.elements()[i] : right.elements()[i];
      }
    });
  });
  return result;
}

// ---- Numbers as parameters ---------------------------------------------------------------------

namespace {

// Runs function(x), with x of the compute type, over all elements.
template <typename Function>
void run_map(const char* name, const Tensor& result, const Tensor& a, Function function,
             const Computes& computes = {}) {
  Operand r(result), x(a);
  const auto kernel = [=] {
    visit_type(x.type, [&]<typename T>(std::type_identity<T>) {
      StagedInput<T> input(x, x.shape);
      StagedOutput<T> output(r);
      map(input.elements(), output.elements(), r.count, function);
      output.finish();
    });
  };
  launch(name, a.device(), {&r, &x}, kernel, computes);
}

template <typename Function>
Tensor mapped(const char* name, const Tensor& a, Function function, const Computes& computes = {}) {
  Tensor result = empty(a.shape(), a.type(), a.device());
  run_map(name, result, a, function, computes);
  return result;
}

template <typename C>
C number(double value) {
  return convert_element<C>(value);
}

template <typename C>
C integer_power(C base, std::int64_t exponent) {
  C result(1);
  for (std::int64_t i = exponent < 0 ? -exponent : exponent; i > 0; i /= 2) {
    if (i % 2 == 1) result = result * base;
    base = base * base;
  }
  return exponent < 0 ? C(1) / result : result;
}

// Small integer powers are products, so that they are exact where the numbers are small.
template <typename C>
C power(C base, double exponent) {
  if constexpr (std::is_same_v<C, bool> || std::is_same_v<C, std::int64_t>) {
    return base;  // refused before
  } else {
    if (exponent == std::trunc(exponent) && std::abs(exponent) <= 64) {
      return integer_power(base, static_cast<std::int64_t>(exponent));
    }
    return std::pow(base, number<C>(exponent));
  }
}

auto affine_function(double factor, double term) {
  return [=]<typename C>(C x) -> C {
    if constexpr (std::is_same_v<C, bool>) {
      return x;  // refused before
    } else {
      const C product = factor == 1 ? x : number<C>(factor) * x;
      return term == 0 ? product : product + number<C>(term);
    }
  };
}

}  // namespace

Tensor affine(const Tensor& a, double factor, double term) {
  check_defined(a);
  require(a.type() != ScalarType::boolean, "arithmetic", a.type());
  if (a.is_sparse() && term == 0) {
    return make_sparse(a.indices(), affine(a.values(), factor, 0), a.shape(), a.is_coalesced());
  }
  return mapped("affine", a, affine_function(factor, term),
                {Elementwise::Function::affine, factor, term});
}

void affine_(const Tensor& a, double factor, double term) {
  check_defined(a);
  require(a.type() != ScalarType::boolean, "arithmetic", a.type());
  run_map("affine", a, a, affine_function(factor, term),
          {Elementwise::Function::affine, factor, term});
  a.bump_version();
}

void divide_(const Tensor& a, double divisor) {
  check_defined(a);
  require(is_differentiable(a.type()), "division", a.type());
  run_map("divide", a, a, [=]<typename C>(C x) -> C { return x / number<C>(divisor); });
  a.bump_version();
}

Tensor pow(const Tensor& a, double exponent) {
  check_defined(a);
  require(is_differentiable(a.type()), "a power", a.type());
  return mapped("pow", a, [=](auto x) { return power(x, exponent); });
}

Tensor clamp(const Tensor& a, double low, double high) {
  check_defined(a);
  require(is_differentiable(a.type()) && !is_complex(a.type()), "clamp", a.type());
  return mapped("clamp", a, [=]<typename C>(C x) -> C {
    if constexpr (!is_complex_element<C>) {
      if (x < number<C>(low)) return number<C>(low);
      if (x > number<C>(high)) return number<C>(high);
    }
    return x;
  });
}

void fill_(const Tensor& a, double value) {
  check_defined(a);
  Operand r(a);
  const auto kernel = [=] {
    visit_type(r.type, [&]<typename T>(std::type_identity<T>) {
      StagedOutput<T> output(r);
      std::fill_n(output.elements(), r.count, convert_element<T>(value));
      output.finish();
    });
  };
  launch("fill", a.device(), {&r}, kernel, {Elementwise::Function::fill, 1, value});
  a.bump_version();
}

bool has_nan(const Tensor& a) {
  const Tensor host = to_device(a.is_sparse() ? a.values() : a, cpu);
  const Operand x(host);
  return visit_type(x.type, [&]<typename T>(std::type_identity<T>) {
    StagedInput<T> input(x, x.shape);
    return std::any_of(input.elements(), input.elements() + x.count,
                       [](T value) { return value != value; });
  });
}

}  // namespace gradcts::reference::kernels

// The C++ types of elements. Heavy (Eigen): for the files that compute, not for headers.
#pragma once

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <type_traits>

#include "reference_engine/tensor/scalar_type.h"

namespace gradcts::reference {

using Half = Eigen::half;
using BFloat16 = Eigen::bfloat16;
using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;

// Half types are computed in float and rounded once: for +, -, *, / and sqrt that is the correctly
// rounded result.
template <typename T>
using ComputeType =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <typename T>
inline constexpr bool is_complex_element =
    std::is_same_v<T, Complex64> || std::is_same_v<T, Complex128>;

// Calls visit(std::type_identity<T>{}) with the C++ type of the elements.
template <typename Visit>
auto visit_type(ScalarType type, Visit&& visit) {
  switch (type) {
    case ScalarType::float16:
      return visit(std::type_identity<Half>{});
    case ScalarType::bfloat16:
      return visit(std::type_identity<BFloat16>{});
    case ScalarType::float32:
      return visit(std::type_identity<float>{});
    case ScalarType::float64:
      return visit(std::type_identity<double>{});
    case ScalarType::complex64:
      return visit(std::type_identity<Complex64>{});
    case ScalarType::complex128:
      return visit(std::type_identity<Complex128>{});
    case ScalarType::int64:
      return visit(std::type_identity<std::int64_t>{});
    case ScalarType::boolean:
      break;
  }
  return visit(std::type_identity<bool>{});
}

// The float next to the number with an odd last bit, unless a float is equal to it. Rounding that
// to a half type gives what rounding the number at once would: rounding twice does not show.
inline float round_to_odd(double number) {
  const float nearest = static_cast<float>(number);
  if (static_cast<double>(nearest) == number || !std::isfinite(nearest)) return nearest;
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(number)) --bits;  // towards zero
  return std::bit_cast<float>(bits | 1u);
}

// The element of another type that means the same: rounded, the real part of a complex one, "not
// zero" as a boolean.
template <typename To, typename From>
To convert_element(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (is_complex_element<From> && is_complex_element<To>) {
    return To(value);
  } else if constexpr (is_complex_element<From>) {
    return convert_element<To>(value.real());
  } else if constexpr (is_complex_element<To>) {
    return To(static_cast<typename To::value_type>(value));
  } else if constexpr (std::is_same_v<From, double> &&
                       (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>)) {
    return To(round_to_odd(value));
  } else {
    return static_cast<To>(static_cast<ComputeType<From>>(value));
  }
}

}  // namespace gradcts::reference

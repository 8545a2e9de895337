// The element types of tensors.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>

namespace Eigen {
struct half;
struct bfloat16;
}  // namespace Eigen

namespace gradcts::reference {

// Gradients have one of the six floating types; int64 and boolean are for indices and conditions.
enum class ScalarType : std::uint8_t {
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
  int64,
  boolean,
};

constexpr bool is_complex(ScalarType type) {
  return type == ScalarType::complex64 || type == ScalarType::complex128;
}
constexpr bool is_differentiable(ScalarType type) {
  return type != ScalarType::int64 && type != ScalarType::boolean;
}
constexpr bool is_half(ScalarType type) {
  return type == ScalarType::float16 || type == ScalarType::bfloat16;
}
// The type of the parts of a complex one; a real one itself.
constexpr ScalarType real_type(ScalarType type) {
  if (type == ScalarType::complex64) return ScalarType::float32;
  return type == ScalarType::complex128 ? ScalarType::float64 : type;
}
std::size_t element_size(ScalarType type);
std::string to_string(ScalarType type);

// The type in which two operands meet: the wider one; complex if either is; float32 for float16
// with bfloat16. Integers and booleans give way to floating types.
ScalarType promote(ScalarType a, ScalarType b);

}  // namespace gradcts::reference

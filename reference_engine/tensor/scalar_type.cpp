#include "reference_engine/tensor/scalar_type.h"

#include <algorithm>

namespace gradcts::reference {

std::size_t element_size(ScalarType type) {
  switch (type) {
    case ScalarType::float16:
    case ScalarType::bfloat16:
      return 2;
    case ScalarType::float32:
      return 4;
    case ScalarType::float64:
    case ScalarType::complex64:
    case ScalarType::int64:
      return 8;
    case ScalarType::complex128:
      return 16;
    case ScalarType::boolean:
      return 1;
  }
  return 0;
}

std::string to_string(ScalarType type) {
  switch (type) {
    case ScalarType::float16:
      return "float16";
    case ScalarType::bfloat16:
      return "bfloat16";
    case ScalarType::float32:
      return "float32";
    case ScalarType::float64:
      return "float64";
    case ScalarType::complex64:
      return "complex64";
    case ScalarType::complex128:
      return "complex128";
    case ScalarType::int64:
      return "int64";
    case ScalarType::boolean:
      return "boolean";
  }
  return "unknown";
}

namespace {

// Types of one row in rising order: what comes later can hold what comes before, but for the two
// half types, neither of which can hold the other.
int rank(ScalarType type) {
  switch (type) {
    case ScalarType::boolean:
      return 0;
    case ScalarType::int64:
      return 1;
    case ScalarType::float16:
    case ScalarType::bfloat16:
      return 2;
    case ScalarType::float32:
    case ScalarType::complex64:
      return 3;
    case ScalarType::float64:
    case ScalarType::complex128:
      return 4;
  }
  return 0;
}

}  // namespace

ScalarType promote(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) {
    return std::max(rank(a), rank(b)) == 4 ? ScalarType::complex128 : ScalarType::complex64;
  }
  if (rank(a) == rank(b)) return ScalarType::float32;
  return rank(a) > rank(b) ? a : b;
}

}  // namespace gradcts::reference

// Array: the oracle's own arithmetic. A shape and its elements in row-major order, nothing else.
//
// Elements are complex doubles whatever the type; real types use the real part alone. Every result
// is rounded to its type, so that a float32 computation gives float32 numbers. Functions are total
// over arrays that broadcast; a misfit throws CannotTell, since a valid scenario has none.
#pragma once

#include <absl/container/inlined_vector.h>

#include <complex>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "conformance/scenario/tensor_value.h"

namespace gradcts::oracle {

// The oracle does not know what the clauses say about this scenario. Never a guess.
struct CannotTell : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Number = std::complex<double>;
using Numbers = absl::InlinedVector<Number, 6>;

struct Array {
  ScalarType type = ScalarType::float64;
  Shape shape;
  Numbers values;
};

inline bool is_complex(ScalarType type) {
  return type == ScalarType::complex64 || type == ScalarType::complex128;
}
bool is_differentiable(ScalarType type);
std::int64_t count(const Shape& shape);
Shape row_major_strides(const Shape& shape);

// The nearest number that the type can hold; ties to even.
Number round_to(ScalarType type, Number value);
void round_to_type(Array& array);

// Where each element of a result comes from: an index into the elements of the source. Shared,
// since a derivative needs the same map again.
using Elements = std::vector<std::int32_t>;
using Map = std::shared_ptr<const Elements>;

Map broadcast_map(const Shape& from, const Shape& to);
Map transpose_map(const Shape& shape, std::int64_t dim0, std::int64_t dim1);
// The elements of a block: along `dim` those with begin <= index < end, in steps.
Map slice_map(const Shape& shape, std::int64_t dim, std::int64_t begin, std::int64_t end,
              std::int64_t step);
// For each element of `shape`, the element of the reduced array that it is summed into.
Map reduction_map(const Shape& shape, const std::vector<bool>& reduced);
Map strided_map(const Shape& shape, const Shape& strides);

// result[i] = source[map[i]].
Array gather(const Array& source, const Elements& map, Shape shape);
// result[map[i]] += source[i], starting from zeros.
Array scatter(const Array& source, const Elements& map, Shape shape);

bool expands_to(const Shape& from, const Shape& to);
// The shape that both expand to; some shape where there is none.
Shape broadcast_shape(const Shape& a, const Shape& b);
// Throws CannotTell where the array does not expand to the shape.
Array broadcast(const Array& array, const Shape& shape);

template <typename Function>
Array elementwise(const Array& a, Function function) {
  Array result{a.type, a.shape, Numbers(a.values.size())};
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    result.values[i] = round_to(result.type, function(a.values[i]));
  }
  return result;
}

// Both of one shape already; the result has the given type.
template <typename Function>
Array elementwise(ScalarType type, const Array& a, const Array& b, Function function) {
  Array result{type, a.shape, Numbers(a.values.size())};
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    result.values[i] = round_to(type, function(a.values[i], b.values[i]));
  }
  return result;
}

// Products and quotients that stay real for real numbers: no stray NaN from infinity times 0i.
Number times(Number a, Number b);
Number over(Number a, Number b);

Array matrix_product(const Array& a, const Array& b);  // of two matrices, or two batches of as many

// The type of an operation on two operands: complex above real, wide above narrow; an operand
// without dimensions widens nothing within its kind.
ScalarType promote(const Array& a, const Array& b);

// Dense elements of a plain value; sparse entries are added up.
Array from_value(const TensorValue& value);

}  // namespace gradcts::oracle

#include "conformance/oracle/array.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradcts::oracle {

namespace {

// Rounds to `digits` binary digits, with `least` the exponent of the smallest subnormal number.
double round_to_digits(double value, int digits, int least, double largest) {
  const int exponent = std::max(std::ilogb(value), least + digits - 1) - digits + 1;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
  return std::abs(rounded) > largest ? std::copysign(INFINITY, value) : rounded;
}

double round_real(ScalarType type, double value) {
  switch (type) {
    case ScalarType::float16:
      return round_to_digits(value, 11, -24, 65504);
    case ScalarType::bfloat16:
      return round_to_digits(value, 8, -133, 3.3895313892515355e38);
    case ScalarType::float32:
    case ScalarType::complex64:
      return round_to_digits(value, 24, -149, std::numeric_limits<float>::max());
    case ScalarType::int64:
      return std::trunc(value);
    case ScalarType::boolean:
      return value != 0 ? 1 : 0;
    case ScalarType::float64:
    case ScalarType::complex128:
      return value;
  }
  return value;
}

// Calls visit(position) for each index of `shape` in row-major order, where position follows
// `strides`.
template <typename Visit>
void walk(const Shape& shape, const Shape& strides, std::int64_t start, Visit visit) {
  Shape index(shape.size(), 0);
  std::int64_t position = start;
  for (std::int64_t left = count(shape); left > 0; --left) {
    visit(position);
    for (std::size_t d = shape.size(); d-- > 0;) {
      position += strides[d];
      if (++index[d] < shape[d]) break;
      position -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

Map walk_map(const Shape& shape, const Shape& strides, std::int64_t start) {
  auto map = std::make_shared<Elements>();
  map->reserve(static_cast<std::size_t>(count(shape)));
  walk(shape, strides, start,
       [&](std::int64_t position) { map->push_back(static_cast<std::int32_t>(position)); });
  return map;
}

int width(ScalarType type) {
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
  return 4;
}

// boolean, integer, real, complex.
int kind(ScalarType type) {
  if (is_complex(type)) return 3;
  return std::min(width(type), 2);
}

}  // namespace

bool is_differentiable(ScalarType type) {
  return type != ScalarType::int64 && type != ScalarType::boolean;
}

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

std::int64_t count(const Shape& shape) {
  std::int64_t product = 1;
  for (std::int64_t size : shape) product *= size;
  return product;
}

Number round_to(ScalarType type, Number value) {
  if (!is_complex(type)) return round_real(type, value.real());
  return {round_real(type, value.real()), round_real(type, value.imag())};
}

void round_to_type(Array& array) {
  for (Number& value : array.values) value = round_to(array.type, value);
}

Map broadcast_map(const Shape& from, const Shape& to) {
  Shape strides(to.size(), 0);
  const Shape own = row_major_strides(from);
  const std::size_t shift = to.size() - from.size();
  for (std::size_t d = 0; d < from.size(); ++d) strides[d + shift] = from[d] == 1 ? 0 : own[d];
  return walk_map(to, strides, 0);
}

Map transpose_map(const Shape& shape, std::int64_t dim0, std::int64_t dim1) {
  Shape strides = row_major_strides(shape);
  Shape result = shape;
  std::swap(strides[static_cast<std::size_t>(dim0)], strides[static_cast<std::size_t>(dim1)]);
  std::swap(result[static_cast<std::size_t>(dim0)], result[static_cast<std::size_t>(dim1)]);
  return walk_map(result, strides, 0);
}

Map slice_map(const Shape& shape, std::int64_t dim, std::int64_t begin, std::int64_t end,
              std::int64_t step) {
  const auto d = static_cast<std::size_t>(dim);
  Shape strides = row_major_strides(shape);
  Shape result = shape;
  const std::int64_t start = begin * strides[d];
  result[d] = std::max<std::int64_t>(0, (end - begin + step - 1) / step);
  strides[d] *= step;
  return walk_map(result, strides, start);
}

Map reduction_map(const Shape& shape, const std::vector<bool>& reduced) {
  Shape kept;
  for (std::size_t d = 0; d < shape.size(); ++d) kept.push_back(reduced[d] ? 1 : shape[d]);
  return broadcast_map(kept, shape);
}

Map strided_map(const Shape& shape, const Shape& strides) {
  return walk_map(shape, strides, 0);
}

Array gather(const Array& source, const Elements& map, Shape shape) {
  Array result{source.type, std::move(shape), Numbers(map.size())};
  for (std::size_t i = 0; i < map.size(); ++i) {
    result.values[i] = source.values[static_cast<std::size_t>(map[i])];
  }
  return result;
}

Array scatter(const Array& source, const Elements& map, Shape shape) {
  const auto size = static_cast<std::size_t>(count(shape));
  Array result{source.type, std::move(shape), Numbers(size)};
  for (std::size_t i = 0; i < map.size(); ++i) {
    result.values[static_cast<std::size_t>(map[i])] += source.values[i];
  }
  round_to_type(result);
  return result;
}

bool expands_to(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (std::size_t d = 1; d <= from.size(); ++d) {
    const std::int64_t size = from[from.size() - d];
    if (size != 1 && size != to[to.size() - d]) return false;
  }
  return true;
}

Shape broadcast_shape(const Shape& a, const Shape& b) {
  Shape result = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  for (std::size_t d = 1; d <= shorter.size(); ++d) {
    std::int64_t& size = result[result.size() - d];
    if (size == 1) size = shorter[shorter.size() - d];
  }
  return result;
}

Array broadcast(const Array& array, const Shape& shape) {
  if (array.shape == shape) return array;
  if (!expands_to(array.shape, shape)) throw CannotTell("operands whose shapes do not broadcast");
  return gather(array, *broadcast_map(array.shape, shape), shape);
}

Number times(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Number over(Number a, Number b) {
  if (a.imag() == 0 && b.imag() == 0) return a.real() / b.real();
  return a / b;
}

Array matrix_product(const Array& a, const Array& b) {
  const std::size_t rank = a.shape.size();
  const bool fits = b.shape.size() == rank && a.shape[rank - 1] == b.shape[rank - 2] &&
                    (rank == 2 || a.shape[0] == b.shape[0]);
  if (!fits) throw CannotTell("matrices whose sizes do not fit");
  const auto batch = static_cast<std::size_t>(rank == 3 ? a.shape[0] : 1);
  const auto rows = static_cast<std::size_t>(a.shape[rank - 2]);
  const auto inner = static_cast<std::size_t>(a.shape[rank - 1]);
  const auto columns = static_cast<std::size_t>(b.shape[rank - 1]);
  Shape shape = a.shape;
  shape[rank - 1] = b.shape[rank - 1];
  Array result{promote(a, b), shape, Numbers(batch * rows * columns)};
  for (std::size_t i = 0; i < batch * rows; ++i) {
    const std::size_t first = i / rows * inner * columns;
    for (std::size_t j = 0; j < columns; ++j) {
      Number& sum = result.values[i * columns + j];
      for (std::size_t k = 0; k < inner; ++k) {
        sum += times(a.values[i * inner + k], b.values[first + k * columns + j]);
      }
    }
  }
  round_to_type(result);
  return result;
}

ScalarType promote(const Array& a, const Array& b) {
  if (a.type == b.type) return a.type;
  if (kind(a.type) != kind(b.type)) {
    const Array& higher = kind(a.type) > kind(b.type) ? a : b;
    const Array& lower = kind(a.type) > kind(b.type) ? b : a;
    const bool is_wide = width(lower.type) == 4 && !lower.shape.empty();  // float64 beside complex
    return is_wide ? ScalarType::complex128 : higher.type;
  }
  if (a.shape.empty() != b.shape.empty()) return a.shape.empty() ? b.type : a.type;
  if (width(a.type) == width(b.type)) throw CannotTell("float16 and bfloat16 in one operation");
  return width(a.type) > width(b.type) ? a.type : b.type;
}

namespace {

// Adds the entries of a sparse value into dense elements.
Array densify(const TensorValue& value, const Numbers& entries) {
  const SparseCoordinates& coordinates = *value.coordinates;
  const auto dims = static_cast<std::size_t>(coordinates.sparse_dimensions);
  const std::size_t entry_count = dims == 0 ? 0 : coordinates.indices.size() / dims;
  const Shape strides = row_major_strides(value.shape);
  std::size_t block = 1;
  for (std::size_t d = dims; d < value.shape.size(); ++d) {
    block *= static_cast<std::size_t>(value.shape[d]);
  }
  Array result{value.type, value.shape, Numbers(static_cast<std::size_t>(count(value.shape)))};
  for (std::size_t e = 0; e < entry_count; ++e) {
    std::int64_t start = 0;
    for (std::size_t d = 0; d < dims; ++d) {
      start += coordinates.indices[d * entry_count + e] * strides[d];
    }
    for (std::size_t i = 0; i < block; ++i) {
      result.values[static_cast<std::size_t>(start) + i] += entries[e * block + i];
    }
  }
  return result;
}

Numbers numbers_of(const TensorValue& value) {
  Numbers numbers;
  const std::size_t step = value.is_complex() ? 2 : 1;
  numbers.reserve(value.values.size() / step);
  for (std::size_t i = 0; i + step <= value.values.size(); i += step) {
    numbers.emplace_back(value.values[i], step == 2 ? value.values[i + 1] : 0);
  }
  return numbers;
}

}  // namespace

Array from_value(const TensorValue& value) {
  Numbers numbers = numbers_of(value);
  Array result = value.layout == Layout::sparse
                     ? densify(value, numbers)
                     : Array{value.type, value.shape, std::move(numbers)};
  round_to_type(result);
  return result;
}

}  // namespace gradcts::oracle

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "conformance/scenario/check_tensor.h"

namespace gradcts {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 26;

Shape row_major_strides(const Shape& shape) {
  Shape strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

// Whether a number has at most `bits` significant bits and stays within the exponents of a type.
bool fits_binary(double value, int bits, int least_exponent, int most_exponent) {
  if (!std::isfinite(value) || value == 0) return true;
  int exponent = 0;
  std::frexp(value, &exponent);  // value = m * 2^exponent with 0.5 <= |m| < 1
  if (exponent > most_exponent) return false;
  const int unit = std::max(exponent - bits, least_exponent);
  const double scaled = std::ldexp(value, -unit);
  return scaled == std::trunc(scaled);
}

bool exact_in(ScalarType type, double value) {
  switch (type) {
    case ScalarType::float16:
      return fits_binary(value, 11, -24, 16);
    case ScalarType::bfloat16:
      return fits_binary(value, 8, -133, 128);
    case ScalarType::float32:
    case ScalarType::complex64:
      return fits_binary(value, 24, -149, 128);
    case ScalarType::float64:
    case ScalarType::complex128:
      return true;
    case ScalarType::int64:
      return std::trunc(value) == value;  // false for NaN, true for inf
    case ScalarType::boolean:
      return value == 0 || value == 1;
  }
  return false;
}

void check_values(const TensorValue& tensor, const Path& path) {
  const std::int64_t expected = stored_elements(tensor) * (tensor.is_complex() ? 2 : 1);
  if (static_cast<std::int64_t>(tensor.values.size()) != expected) {
    const auto found =
        static_cast<std::int64_t>(tensor.values.size()) / (tensor.is_complex() ? 2 : 1);
    fail(path, fmt::format("the shape ({}) needs {} values, found {}", fmt::join(tensor.shape, ","),
                           stored_elements(tensor), found));
  }
  for (const double value : tensor.values) {
    const bool infinite_integer = tensor.type == ScalarType::int64 && std::isinf(value);
    if (exact_in(tensor.type, value) && !infinite_integer) continue;
    fail(path,
         fmt::format("{} cannot be represented exactly in {}; write the exact value that is meant",
                     value, to_text(tensor.type)));
  }
}

void check_coordinates(const TensorValue& tensor, const Path& path) {
  const SparseCoordinates& coordinates = *tensor.coordinates;
  const auto dimensions = coordinates.sparse_dimensions;
  if (dimensions < 1 || dimensions > static_cast<std::int64_t>(tensor.shape.size())) {
    fail(path, fmt::format("{} sparse dimensions do not fit {} dimensions", dimensions,
                           tensor.shape.size()));
  }
  const auto total = static_cast<std::int64_t>(coordinates.indices.size());
  if (total % dimensions != 0) fail(path, "the rows of indices differ in length");
  const std::int64_t entries = total / dimensions;
  for (std::int64_t i = 0; i < total; ++i) {
    const std::int64_t index = coordinates.indices[static_cast<std::size_t>(i)];
    const std::int64_t size = tensor.shape[static_cast<std::size_t>(i / entries)];
    if (index >= 0 && index < size) continue;
    fail(path,
         fmt::format("index {} is outside of dimension {} of size {}", index, i / entries, size));
  }
}

// Coalesced: the entries are in strictly ascending order of their coordinates.
void check_coalesced(const SparseCoordinates& coordinates, const Path& path) {
  const std::int64_t entries =
      static_cast<std::int64_t>(coordinates.indices.size()) / coordinates.sparse_dimensions;
  const auto at = [&](std::int64_t dimension, std::int64_t entry) {
    return coordinates.indices[static_cast<std::size_t>(dimension * entries + entry)];
  };
  for (std::int64_t entry = 1; entry < entries; ++entry) {
    std::int64_t dimension = 0;
    while (dimension < coordinates.sparse_dimensions &&
           at(dimension, entry - 1) == at(dimension, entry)) {
      ++dimension;
    }
    const bool ascending = dimension < coordinates.sparse_dimensions &&
                           at(dimension, entry - 1) < at(dimension, entry);
    if (!ascending) fail(path, "a coalesced tensor has its entries in ascending order, each once");
  }
}

// Elements that share a place in memory have one value.
void check_overlap(const TensorValue& tensor, const Path& path) {
  const std::size_t width = tensor.is_complex() ? 2 : 1;
  absl::flat_hash_map<std::int64_t, std::size_t> owner;
  Shape position(tensor.shape.size(), 0);
  for (std::size_t element = 0; element * width < tensor.values.size(); ++element) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < position.size(); ++i) offset += position[i] * tensor.strides[i];
    const std::size_t first = owner.try_emplace(offset, element).first->second;
    for (std::size_t part = 0; part < width; ++part) {
      const auto a = std::bit_cast<std::uint64_t>(tensor.values[first * width + part]);
      const auto b = std::bit_cast<std::uint64_t>(tensor.values[element * width + part]);
      if (a != b)
        fail(path, "elements that share memory through the strides have different values");
    }
    for (std::size_t i = position.size(); i-- > 0;) {
      if (++position[i] < tensor.shape[i]) break;
      position[i] = 0;
    }
  }
}

void check_strides(const TensorValue& tensor, const Path& path) {
  if (tensor.strides.empty()) return;
  if (tensor.strides.size() != tensor.shape.size()) {
    fail(path, fmt::format("{} strides do not fit {} dimensions", tensor.strides.size(),
                           tensor.shape.size()));
  }
  for (const std::int64_t stride : tensor.strides) {
    if (stride < 0 || stride > most_elements)
      fail(path, fmt::format("the stride {} is out of range", stride));
  }
  if (tensor.layout == Layout::sparse) fail(path, "a sparse tensor has no strides");
  if (has_own_strides(tensor)) check_overlap(tensor, path);
}

}  // namespace

void check_size(const Shape& shape, const Path& path) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) fail(path, fmt::format("the shape has the negative size {}", size));
    const bool too_large = size > most_elements || (count *= size) > most_elements;
    if (too_large) fail(path, "the tensor has more than 2^26 elements");
  }
}

bool has_own_strides(const TensorValue& tensor) {
  return !tensor.strides.empty() && tensor.strides != row_major_strides(tensor.shape);
}

std::int64_t stored_elements(const TensorValue& tensor) {
  if (!tensor.coordinates) return tensor.element_count();
  const auto dimensions = tensor.coordinates->sparse_dimensions;
  std::int64_t count = static_cast<std::int64_t>(tensor.coordinates->indices.size()) / dimensions;
  for (std::size_t i = static_cast<std::size_t>(dimensions); i < tensor.shape.size(); ++i) {
    count *= tensor.shape[i];
  }
  return count;
}

void check_tensor(const TensorValue& tensor, const Path& path) {
  if (tensor.device.index < 0 ||
      (tensor.device.type == DeviceType::cpu && tensor.device.index != 0)) {
    fail(path, "the device index is out of range");
  }
  if ((tensor.layout == Layout::sparse) != tensor.coordinates.has_value()) {
    fail(path, "a tensor has coordinates exactly when it is sparse");
  }
  check_size(tensor.shape, path);
  if (tensor.coordinates) check_coordinates(tensor, path);
  check_values(tensor, path);
  if (tensor.coordinates && tensor.coordinates->coalesced)
    check_coalesced(*tensor.coordinates, path);
  check_strides(tensor, path);
}

}  // namespace gradcts

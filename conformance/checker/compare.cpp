#include "conformance/checker/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "conformance/oracle/array.h"

namespace gradcts {

namespace {

Shape row_major(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// Those of a sparse tensor, added up and rounded to its type.
std::vector<double> dense_values(const TensorValue& tensor) {
  const auto dims = static_cast<std::size_t>(tensor.coordinates->sparse_dimensions);
  const auto& indices = tensor.coordinates->indices;
  const std::size_t entries = indices.size() / dims;
  const std::size_t parts = tensor.is_complex() ? 2 : 1;
  const Shape strides = row_major(tensor.shape);
  std::vector<double> dense(static_cast<std::size_t>(tensor.element_count()) * parts, 0);
  const std::size_t block = entries == 0 ? 0 : tensor.values.size() / entries;
  for (std::size_t e = 0; e < entries; ++e) {
    std::int64_t start = 0;
    for (std::size_t d = 0; d < dims; ++d) start += indices[d * entries + e] * strides[d];
    const std::size_t first = static_cast<std::size_t>(start) * parts;
    for (std::size_t i = 0; i < block; ++i) dense[first + i] += tensor.values[e * block + i];
  }
  for (double& value : dense) value = oracle::round_to(tensor.type, value).real();
  return dense;
}

bool same_number(double expected, double actual) {
  return expected == actual || (std::isnan(expected) && std::isnan(actual));
}

struct Digits {
  int precision;
  int least_exponent;  // of the smallest normal number
};

Digits digits_of(ScalarType type) {
  switch (type) {
    case ScalarType::float16:
      return {11, -14};
    case ScalarType::bfloat16:
      return {8, -126};
    case ScalarType::float32:
    case ScalarType::complex64:
      return {24, -126};
    default:
      return {53, -1022};
  }
}

// The two parts of a complex number share the unit of the larger one.
double unit_at(std::span<const double> values, std::size_t i, const TensorValue& like) {
  if (!like.is_complex()) return unit_in_last_place(values[i], like.type);
  const std::size_t first = i - i % 2;
  return unit_in_last_place(std::max(std::abs(values[first]), std::abs(values[first + 1])),
                            like.type);
}

// The elements that the tensor stands for.
class Elements {
 public:
  explicit Elements(const TensorValue& tensor) {
    if (tensor.coordinates) made_ = dense_values(tensor);
    numbers_ = tensor.coordinates ? std::span<const double>(made_)
                                  : std::span<const double>(tensor.values.data(), tensor.values.size());
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  std::span<const double> get() const { return numbers_; }

 private:
  std::vector<double> made_;
  std::span<const double> numbers_;
};

std::optional<std::string> different_values(const TensorValue& expected, const TensorValue& actual,
                                            double bound) {
  const Elements of_expected(expected);
  const Elements of_actual(actual);
  const std::span<const double> left = of_expected.get();
  const std::span<const double> right = of_actual.get();
  if (left.size() != right.size())
    return fmt::format("{} numbers instead of {}", right.size(), left.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (same_number(left[i], right[i])) continue;
    const double distance = std::abs(left[i] - right[i]) / unit_at(left, i, expected);
    if (distance <= bound) continue;
    if (bound > 0) {
      return fmt::format("{:.17g} instead of {:.17g}, {:.3g} units in the last place apart",
                         right[i], left[i], distance);
    }
    return fmt::format("{:.17g} instead of {:.17g}", right[i], left[i]);
  }
  return std::nullopt;
}

bool is_coalesced(const TensorValue& tensor) {
  return tensor.coordinates && tensor.coordinates->coalesced;
}

std::string_view to_word(Layout layout) {
  return layout == Layout::sparse ? "sparse" : "dense";
}

std::string to_words(const Shape& shape) {
  return fmt::format("({})", fmt::join(shape, ","));
}

}  // namespace

double unit_in_last_place(double expected, ScalarType type) {
  const Digits digits = digits_of(type);
  if (!std::isfinite(expected)) return 0;
  const int exponent = std::max(std::ilogb(expected), digits.least_exponent);  // of 0: below all
  return std::ldexp(1, exponent - digits.precision + 1);
}

std::optional<std::string> difference(const TensorValue& expected, const TensorValue& actual,
                                      double bound) {
  if (expected.type != actual.type) {
    return fmt::format("type {} instead of {}", to_text(actual.type), to_text(expected.type));
  }
  if (expected.shape != actual.shape) {
    return fmt::format("shape {} instead of {}", to_words(actual.shape), to_words(expected.shape));
  }
  if (expected.layout != actual.layout) {
    return fmt::format("{} instead of {}", to_word(actual.layout), to_word(expected.layout));
  }
  if (expected.device != actual.device) {
    return fmt::format("on {} instead of {}", to_text(actual.device), to_text(expected.device));
  }
  if (is_coalesced(expected) && !is_coalesced(actual)) return "no longer marked coalesced";
  return different_values(expected, actual, bound);
}

std::optional<std::string> difference(const std::optional<TensorValue>& expected,
                                      const std::optional<TensorValue>& actual, double bound) {
  if (!expected && !actual) return std::nullopt;
  if (!expected) return "a tensor instead of undefined";
  if (!actual) return "undefined instead of a tensor";
  return difference(*expected, *actual, bound);
}

bool same_strides(const Shape& shape, const Shape& expected, const Shape& actual) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  const Shape own = actual.empty() ? row_major(shape) : actual;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] > 1 && own[d] != expected[d]) return false;
  }
  return true;
}

}  // namespace gradcts

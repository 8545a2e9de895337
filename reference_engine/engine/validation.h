// Does a gradient fit the slot that it goes to? (VAL-1 to VAL-6)
#pragma once

#include <optional>
#include <string>

#include "reference_engine/error.h"
#include "reference_engine/graph/input_metadata.h"

namespace gradcts::reference {

struct Mismatch {
  ErrorCategory category;
  std::string message;  // "expected shape [2] but got [3]"
};

namespace detail {
std::optional<Mismatch> make_fit(const InputMetadata& expected, Tensor& gradient, bool strict);
}

// As ==, without a call: it is asked for every gradient.
inline bool is_same_shape(const Shape& a, const Shape& b) {
  const std::size_t dims = a.size();
  if (b.size() != dims) return false;
  const std::int64_t* of_a = a.data();
  const std::int64_t* of_b = b.data();
  for (std::size_t i = 0; i < dims; ++i) {
    if (of_a[i] != of_b[i]) return false;
  }
  return true;
}

// Is it of the kind that is expected? An undefined gradient is of every kind.
inline bool fits(const InputMetadata& expected, const Tensor& gradient) {
  return !gradient.defined() ||
         (gradient.type() == expected.type && gradient.device() == expected.device() &&
          is_same_shape(gradient.shape(), expected.shape));
}

// Makes the gradient fit: sums what was broadcast, casts to the recorded type, moves a
// 0-dimensional tensor to the recorded device. Tells what is wrong where that is not possible or,
// if strict, not needed to be the same.
inline std::optional<Mismatch> fit(const InputMetadata& expected, Tensor& gradient, bool strict) {
  if (fits(expected, gradient)) return std::nullopt;
  return detail::make_fit(expected, gradient, strict);
}

}  // namespace gradcts::reference

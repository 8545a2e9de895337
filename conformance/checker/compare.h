// Compare: when two tensors are the same, for a judge.
//
// Exact means equal as numbers: NaN equals NaN, and 0 equals -0, since no clause speaks of the sign
// of a zero. With a bound, the distance of each element is measured in units in the last place of
// the expected one in its type. Strides are not compared, and a sparse tensor is compared by what
// it adds up to.
#pragma once

#include <optional>
#include <string>

#include "conformance/scenario/tensor_value.h"

namespace gradcts {

// What differs, in words: "type float32 instead of float64". Nothing where both are the same.
std::optional<std::string> difference(const TensorValue& expected, const TensorValue& actual,
                                      double bound);
// Unset: undefined.
std::optional<std::string> difference(const std::optional<TensorValue>& expected,
                                      const std::optional<TensorValue>& actual, double bound);

// Whether a tensor with the actual strides is laid out as expected: dimensions of size 1 do not
// count, and none of a tensor without elements.
bool same_strides(const Shape& shape, const Shape& expected, const Shape& actual);

// The distance from `expected` to the next larger number of its type; 0 from what is not finite.
double unit_in_last_place(double expected, ScalarType type);

}  // namespace gradcts

#include "reference_engine/tensor/shape.h"

#include <algorithm>
#include <numeric>

#include "reference_engine/error.h"

namespace gradcts::reference {

std::int64_t element_count(ShapeView shape) {
  std::int64_t count = 1;
  for (std::int64_t size : shape) count *= size;
  return count;
}

Strides contiguous_strides(ShapeView shape) {
  Strides strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

bool is_dense_and_non_overlapping(ShapeView shape, ShapeView strides) {
  absl::InlinedVector<std::size_t, 4> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  std::int64_t expected = 1;
  for (std::size_t i : order) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

bool is_expandable_to(ShapeView from, ShapeView to) {
  if (from.size() > to.size()) return false;
  const std::size_t lead = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != to[lead + i]) return false;
  }
  return true;
}

Shape broadcast(ShapeView a, ShapeView b) {
  Shape result(std::max(a.size(), b.size()), 1);
  const auto merge = [&](ShapeView shape) {
    const std::size_t lead = result.size() - shape.size();
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (result[lead + i] == 1) result[lead + i] = shape[i];
    }
  };
  merge(a);
  merge(b);
  if (is_expandable_to(a, result) && is_expandable_to(b, result)) return result;
  throw Error(ErrorCategory::invalid_argument,
              "shapes " + to_string(a) + " and " + to_string(b) + " cannot be broadcast together");
}

std::string to_string(ShapeView shape) {
  std::string text = "[";
  for (std::int64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

}  // namespace gradcts::reference

#include "reference_engine/engine/validation.h"

#include "reference_engine/graph/operations.h"

namespace gradcts::reference::detail {
namespace {

std::optional<Mismatch> fit_shape(const InputMetadata& expected, Tensor& gradient, bool strict) {
  if (gradient.shape() == expected.shape) return std::nullopt;
  if (strict || gradient.is_sparse() || !is_expandable_to(expected.shape, gradient.shape())) {
    return Mismatch{ErrorCategory::gradient_shape, "expected shape " + to_string(expected.shape) +
                                                       " but got " + to_string(gradient.shape())};
  }
  gradient = sum_to(gradient, expected.shape);
  return std::nullopt;
}

std::optional<Mismatch> fit_type(const InputMetadata& expected, Tensor& gradient, bool strict) {
  if (gradient.type() == expected.type) return std::nullopt;
  const bool loses_imaginary_part = is_complex(gradient.type()) && !is_complex(expected.type);
  if (strict || loses_imaginary_part || !is_differentiable(gradient.type())) {
    return Mismatch{ErrorCategory::gradient_type, "expected type " + to_string(expected.type) +
                                                      " but got " + to_string(gradient.type())};
  }
  gradient = cast(gradient, expected.type);
  return std::nullopt;
}

std::optional<Mismatch> fit_device(const InputMetadata& expected, Tensor& gradient, bool strict) {
  if (gradient.device() == expected.device()) return std::nullopt;
  if (strict || gradient.is_sparse() || gradient.dim() != 0) {
    return Mismatch{ErrorCategory::gradient_device, "expected device " +
                                                        to_string(expected.device()) + " but got " +
                                                        to_string(gradient.device())};
  }
  gradient = to_device(gradient, expected.device());
  return std::nullopt;
}

}  // namespace

std::optional<Mismatch> make_fit(const InputMetadata& expected, Tensor& gradient, bool strict) {
  if (auto mismatch = fit_device(expected, gradient, strict)) return mismatch;
  if (auto mismatch = fit_type(expected, gradient, strict)) return mismatch;
  return fit_shape(expected, gradient, strict);
}

}  // namespace gradcts::reference::detail

#include "reference_engine/error.h"

namespace gradcts::reference {

std::string_view to_string(ErrorCategory category) {
  switch (category) {
    case ErrorCategory::gradient_count:
      return "gradient_count";
    case ErrorCategory::gradient_shape:
      return "gradient_shape";
    case ErrorCategory::gradient_type:
      return "gradient_type";
    case ErrorCategory::gradient_device:
      return "gradient_device";
    case ErrorCategory::unused_input:
      return "unused_input";
    case ErrorCategory::graph_released:
      return "graph_released";
    case ErrorCategory::saved_tensor_modified:
      return "saved_tensor_modified";
    case ErrorCategory::not_differentiable:
      return "not_differentiable";
    case ErrorCategory::outside_pass:
      return "outside_pass";
    case ErrorCategory::in_place:
      return "in_place";
    case ErrorCategory::invalid_argument:
      return "invalid_argument";
    case ErrorCategory::hook_result:
      return "hook_result";
    case ErrorCategory::nan_gradient:
      return "nan_gradient";
    case ErrorCategory::incomplete_pass:
      return "incomplete_pass";
    case ErrorCategory::forked:
      return "forked";
    case ErrorCategory::stopped:
      return "stopped";
    case ErrorCategory::device_failure:
      return "device_failure";
    case ErrorCategory::reducer:
      return "reducer";
    case ErrorCategory::rank_failure:
      return "rank_failure";
  }
  return "unknown";
}

}  // namespace gradcts::reference

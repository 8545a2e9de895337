// What libtorch's error messages mean. It has few types of exceptions, so that its words must do.
#pragma once

#include <string_view>
#include <utility>

#include "conformance/scenario/error.h"

namespace gradcts::libtorch {

inline ErrorCategory category_of(std::string_view text) {
  using enum ErrorCategory;
  static constexpr std::pair<std::string_view, ErrorCategory> phrases[] = {
      {"invalid number of gradients", gradient_count},
      {"but expected shape compatible with", gradient_shape},
      {"input_is_complex == grad_is_complex", gradient_type},
      {"- expected type", gradient_type},
      {"- expected layout", gradient_type},
      {"- expected device", gradient_device},
      {"has changed the", hook_result},
      {"to not have been used in the graph", unused_input},
      {"backward through the graph a second time", graph_released},
      {"modified by an inplace operation", saved_modified},
      {"differentiate twice", not_differentiable},
      {"is not implemented", not_differentiable},
      {"can only be installed during backward pass", outside_pass},
      {"returned nan values", nan_gradient},
      {"could not compute gradients for some functions", incomplete},
      {"dependency not found for", incomplete},
      {"in combination with fork-based multiprocessing", forked},
      {"is being used in an in-place operation", in_place},
      {"is being modified inplace", in_place},
      {"has been modified inplace", in_place},
      {"refers to a single memory location", in_place},
      {"not require grad", invalid_argument},
      {"doesn't require grad", invalid_argument},
      {"can't retain_grad on", invalid_argument},
      {"grad can be implicitly created only", invalid_argument},
      {"change requires_grad flags of leaf", invalid_argument},
      {"can require gradients", invalid_argument},
      {"index out of range", invalid_argument},
      {"is out of bounds for dimension", invalid_argument},
      {"doesn't match the broadcast shape", invalid_argument},
      {"can't be cast to the desired output type", invalid_argument},
  };
  for (const auto& [phrase, category] : phrases) {
    if (text.find(phrase) != std::string_view::npos) return category;
  }
  return other;
}

}  // namespace gradcts::libtorch

// The vocabulary of differentiable operations, as one table that the reader, the validator, the
// oracle, the adapters and the documentation share.
//
// Each operation makes exactly one graph node (when an input requires a gradient and recording is
// on), so that "the node of y" is well defined on every engine. Built-in operations are the
// engine's own; `custom` is a node whose backward is scripted by the scenario.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "conformance/scenario/tensor_value.h"

namespace gradcts {

enum class Operation : std::uint8_t {
  custom,
  // Arithmetic, with broadcasting.
  add,
  sub,
  mul,
  div,
  neg,
  scale,  // times a number
  power,  // to the power of a number
  pow,    // to the power of a tensor
  maximum,
  minimum,
  where,
  clamp,
  // Reductions, and what works along dimensions.
  sum,
  mean,
  amax,
  amin,
  logsumexp,
  softmax,
  log_softmax,
  layer_norm,
  cumsum,
  flip,
  // Products.
  mm,   // of two matrices
  bmm,  // of two batches of matrices
  // Shape. The first group makes views.
  view,
  expand,
  transpose,
  select,
  slice,
  unbind,
  view_as_real,
  view_as_complex,
  cat,
  clone,
  detach,  // a view without history: makes no node
  // By an index tensor, which is int64.
  gather,
  scatter_add,
  index_select,
  embedding,
  // Elementwise functions.
  exp,
  log,
  expm1,
  log1p,
  sin,
  cos,
  tan,
  tanh,
  sigmoid,
  erf,
  relu,
  abs,
  sqrt,
  conj,
  // Conversions.
  cast,
  to_device,
  // In place: the first input is changed and is the output.
  add_in_place,
  sub_in_place,
  mul_in_place,
  div_in_place,
  neg_in_place,
  scale_in_place,
  exp_in_place,
  tanh_in_place,
  relu_in_place,
  copy_in_place,
  fill_in_place,
};

inline constexpr std::size_t operation_count =
    static_cast<std::size_t>(Operation::fill_in_place) + 1;

// What an attribute holds. Lists are of integers (shapes, dimensions).
using IntegerList = absl::InlinedVector<std::int64_t, 4>;
using Attribute =
    std::variant<std::monostate, std::int64_t, double, bool, IntegerList, ScalarType, Device>;

enum class AttributeKind : std::uint8_t { integer, number, boolean, integers, type, device };

struct AttributeSpec {
  std::string_view name;
  AttributeKind kind;
  bool required;  // a missing optional attribute is std::monostate
};

struct OperationSpec {
  Operation operation;
  std::string_view name;  // in JSON; in-place operations end in "_"
  int least_inputs;
  int most_inputs;  // -1: no bound
  // Number of outputs; -1: as many as the scenario names (custom, unbind).
  int outputs;
  bool in_place;
  bool makes_view;
  std::span<const AttributeSpec> attributes;  // a node's attributes stand in this order
  std::string_view meaning;                   // one line for the documentation
};

std::span<const OperationSpec> all_operations();
const OperationSpec& spec_of(Operation operation);
const OperationSpec* find_operation(std::string_view name);  // null when there is none

}  // namespace gradcts

// Shared by the engine's own tests: devices, short ways to make and read tensors, what is alive.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference_engine/engine/engine.h"
#include "reference_engine/graph/operations.h"
#include "reference_engine/graph/recording.h"
#include "reference_engine/graph/thread_local_value.h"
#include "reference_engine/memory/live_count.h"

namespace gradcts::reference::testing {

inline constexpr Device sim0{DeviceType::sim, 0};
inline constexpr Device sim1{DeviceType::sim, 1};

using Values = std::vector<double>;

inline Tensor vector_of(const Values& values, ScalarType type = ScalarType::float64,
                        Device device = cpu) {
  return from_values(values, {static_cast<std::int64_t>(values.size())}, type, device);
}

inline Tensor leaf(const Values& values, ScalarType type = ScalarType::float64,
                   Device device = cpu) {
  Tensor tensor = vector_of(values, type, device);
  set_requires_grad(tensor, true);
  return tensor;
}

inline Values values(const Tensor& tensor) {
  return tensor.defined() ? to_values(tensor) : Values{};
}

inline Values gradient_values(const Tensor& tensor) {
  return values(gradient(tensor));
}

// Compare before and after: nothing may be left (LIFE-1).
inline std::vector<std::int64_t> live_counts() {
  return {live_count(LiveKind::tensor), live_count(LiveKind::node), live_count(LiveKind::pass)};
}

inline ErrorCategory category_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.category();
  }
  throw std::runtime_error("no error was raised");
}

inline std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error was raised";
}

// A node whose backward is a function, with one slot for each of its outputs.
class FunctionNode : public Node {
 public:
  using Function = std::function<Gradients(Gradients)>;
  explicit FunctionNode(Function function, std::string name = "FunctionNode")
      : function_(std::move(function)), name_(std::move(name)) {}
  Gradients apply(Gradients&& gradients) override { return function_(std::move(gradients)); }
  std::string name() const override { return name_; }

 private:
  Function function_;
  std::string name_;
};

inline Gradients same(Gradients gradients) {
  return gradients;
}

// The output of a node with these inputs: a copy of the first one.
inline Tensor custom(std::initializer_list<Tensor> inputs, FunctionNode::Function function,
                     std::string name = "FunctionNode") {
  auto node = make_node<FunctionNode>(std::move(function), std::move(name));
  node->set_next_edges(gradient_edges(inputs));
  Tensor output = detach(clone(*inputs.begin()));
  record_history(output, node);
  return output;
}

}  // namespace gradcts::reference::testing

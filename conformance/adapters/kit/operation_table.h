// A binding's functions for the built-in operations, found by index.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <utility>

#include "conformance/scenario/scenario.h"

namespace gradcts::kit {

template <typename Function>
class OperationTable {
 public:
  constexpr OperationTable(std::initializer_list<std::pair<Operation, Function>> entries) {
    for (const auto& [operation, function] : entries) {
      functions_[static_cast<std::size_t>(operation)] = function;
    }
  }
  // Null where the binding has none.
  constexpr Function operator[](Operation operation) const {
    return functions_[static_cast<std::size_t>(operation)];
  }

 private:
  std::array<Function, operation_count> functions_{};
};

// A node's attribute, or `otherwise` when the scenario left it out.
template <typename T>
T attribute(const Node& node, std::size_t index, T otherwise = T()) {
  const auto* found = std::get_if<T>(&node.attributes[index]);
  return found ? *found : otherwise;
}

}  // namespace gradcts::kit

// Keys: what a program relies on of one node (COMP-2). Everything else about a node is an input of
// the replay.
#pragma once

#include <cstdint>
#include <string>
#include <typeinfo>
#include <vector>

#include "reference_engine/graph/operation.h"

namespace gradcts::reference {

// Where an edge leads. Nodes are numbered from 1 in the order in which the walk meets them; the
// first edge to a node has the next number.
struct EdgeKey {
  static constexpr std::uint32_t nowhere = 0;                // a null edge
  static constexpr std::uint32_t below = ~std::uint32_t{0};  // below all that was asked for

  std::uint32_t target = nowhere;
  std::uint32_t slot = 0;
};

struct NodeKey {
  const std::type_info* type = nullptr;  // null for what stands for the roots, number 0
  const OperationKind* kind = nullptr;   // of an operation
  std::uint32_t slots = 0;
  std::uint32_t edges = 0;
};

// Keys of nodes that a walk meets after one another, with their edges' keys one after another.
struct KeyRun {
  std::vector<NodeKey> nodes;
  std::vector<EdgeKey> edges;
};

inline const OperationKind* kind_of(const Node& node, const std::type_info& type) {
  return type == typeid(Operation) ? &static_cast<const Operation&>(node).kind() : nullptr;
}

// "Mul"; the name of its type for a node that is no operation.
std::string name_of(const NodeKey& key);

}  // namespace gradcts::reference

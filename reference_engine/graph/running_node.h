// What a node can ask about the pass that runs it, without knowing the engine.
#pragma once

#include <cstdint>

#include "reference_engine/graph/node.h"

namespace gradcts::reference {

// The node that a thread runs, set by the engine, and the question that it can ask about its pass.
struct RunningNode {
  const Node* node = nullptr;
  const void* pass = nullptr;
  bool (*is_edge_needed)(const void* pass, const Edge& edge) = nullptr;
};

// Is the gradient for this edge of the node needed? Where the node is the one that this thread
// runs, that depends on the pass (B122); else it is needed if the edge leads anywhere.
bool is_edge_needed(const Node& node, std::uint32_t edge);

}  // namespace gradcts::reference

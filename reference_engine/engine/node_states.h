// The table in which a pass keeps what it knows about each node that it visits.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "reference_engine/engine/node_claim.h"
#include "reference_engine/graph/gradients.h"

namespace gradcts::reference {

// One node in one pass. Small: the memory of a pass is this times the nodes.
struct NodeState {
  explicit NodeState(Node& n) : node(&n) {}

  // Takes what arrived; afterwards there is nothing.
  Gradients take_inputs() {
    Gradients taken = std::move(inputs);
    inputs.clear();
    return taken;
  }

  Node* node;
  Gradients inputs;                // the sums so far, one a slot; empty until something arrives
  std::uint32_t missing = 0;       // deliveries to come before the node is ready
  std::uint32_t capture : 28 = 0;  // the first of the node's captures, counted from 1; 0: none
  bool needed : 1 = false;         // runs; otherwise it is only captured, or not part of the pass
  bool claimed : 1 = false;        // its index is in the node's claim, and not in the map

  bool takes_part() const { return needed || capture != 0; }
};

// States never move. Not thread-safe: the pass says who may use it when.
class NodeStates {
 public:
  explicit NodeStates(std::uint32_t pass) : pass_(pass) {}
  ~NodeStates();
  NodeStates(const NodeStates&) = delete;
  NodeStates& operator=(const NodeStates&) = delete;

  std::uint32_t size() const { return size_; }

  NodeState& operator[](std::uint32_t index) const {
    if (index < first_chunk_size) return chunks_[0][index];
    index -= first_chunk_size;
    return chunks_[1 + index / chunk_size][index % chunk_size];
  }

  // The state of a node that has not run yet; null if it has none, or has run.
  NodeState* find(const Node& node) const {
    const std::uint32_t index = NodeClaim::index(node, pass_);
    if (index != NodeClaim::none) return &(*this)[index];
    return unclaimed_.empty() ? nullptr : find_unclaimed(node);
  }

  // The index of that state; NodeClaim::none where find() gives null.
  std::uint32_t find_index(const Node& node) const;

  // The state of any node of the pass, whether it has run or not. Slow the first time. The address
  // is not looked into, and need not be that of a node.
  const NodeState* find_address(const Node* address) const;

  // The index of the node's state, which is made if it is new; tells whether it was.
  struct Added {
    std::uint32_t index;
    bool is_new;
  };
  Added add(Node& node) {
    const std::uint32_t claimed = NodeClaim::index(node, pass_);
    return claimed != NodeClaim::none ? Added{claimed, false} : add_unclaimed(node);
  }

  // The node has run: it is not found any more, and other passes may claim it.
  void forget(NodeState& state) {
    if (!state.claimed) return forget_unclaimed(state);
    NodeClaim::release(*state.node);
    state.claimed = false;
  }

 private:
  // Small passes are many, large ones are few.
  static constexpr std::uint32_t first_chunk_size = 32;
  static constexpr std::uint32_t chunk_size = 4096;

  static NodeState* allocate_chunk(bool is_first);
  static void free_chunk(NodeState* chunk, bool is_first);
  Added add_unclaimed(Node& node);
  NodeState* find_unclaimed(const Node& node) const;
  void forget_unclaimed(const NodeState& state);
  NodeState& append(Node& node);

  const std::uint32_t pass_;
  std::uint32_t size_ = 0;
  std::vector<NodeState*> chunks_;
  absl::flat_hash_map<const Node*, std::uint32_t> unclaimed_;
  mutable absl::flat_hash_map<const Node*, std::uint32_t> all_;
};

}  // namespace gradcts::reference

// The table in which a pass keeps what it knows about each node that it visits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "reference_engine/engine/block_cache.h"
#include "reference_engine/engine/node_claim.h"
#include "reference_engine/graph/gradients.h"

namespace gradcts::reference {

// One node in one pass. Small: the memory of a pass is this times the nodes.
struct NodeState {
  explicit NodeState(Node& n) : node(&n) {}

  Node* node;
  Gradients inputs;                // the sums so far, one a slot; empty until something arrives
  std::uint32_t missing = 0;       // deliveries to come before the node is ready
  std::uint32_t capture : 31 = 0;  // the first of the node's captures, counted from 1; 0: none
  bool needed : 1 = false;         // runs; otherwise it is only captured, or not part of the pass

  bool takes_part() const { return needed || capture != 0; }
};

// States never move. Not thread-safe: the pass says who may use it when.
class NodeStates {
 public:
  explicit NodeStates(std::uint32_t pass) : pass_(pass) {}
  ~NodeStates() {
    if (forgotten_ != size_) release_all();
    if (!chunks_.empty()) free_chunks();
  }
  NodeStates(const NodeStates&) = delete;
  NodeStates& operator=(const NodeStates&) = delete;

  std::uint32_t size() const { return size_; }

  // How many have run. What arrived at them was taken away then.
  std::uint32_t forgotten() const { return forgotten_; }

  NodeState& operator[](std::uint32_t index) const {
    if (index < first_chunk_size) return first_chunk()[index];
    index -= first_chunk_size;
    return chunks_[index / chunk_size][index % chunk_size];
  }

  // The state of a node that has not run yet; null if it has none, or has run.
  NodeState* find(const Node& node) const {
    const std::uint32_t index = NodeClaim::index(node, pass_);
    if (index != NodeClaim::none) [[likely]]
      return &(*this)[index];
    return unclaimed_.empty() ? nullptr : find_unclaimed(node);
  }

  // The index of that state; NodeClaim::none where find() gives null.
  std::uint32_t find_index(const Node& node) const;

  // The state of any node of the pass, whether it has run or not. Slow the first time. The address
  // is not looked into, and need not be that of a node.
  const NodeState* find_address(const Node* address) const;

  // The node's state, which is made if it is new; tells whether it was. Only a new one's index is
  // told.
  struct Added {
    NodeState& state;
    std::uint32_t index;
    bool is_new;
  };
  Added add(Node& node) {
    if (NodeState* known = find(node)) return {*known, NodeClaim::none, false};
    const std::uint32_t index = size_;
    NodeState& state = append(node);
    if (!NodeClaim::try_claim(node, pass_, index)) unclaimed_.emplace(&node, index);
    return {state, index, true};
  }

  // The node has run: it is not found any more, and other passes may claim it.
  void forget(NodeState& state) {
    ++forgotten_;
    if (!has_claim(state)) return forget_unclaimed(state);
    NodeClaim::release(*state.node);
  }

 private:
  // Small passes are many, large ones are few: the first states lie in the table itself.
  static constexpr std::uint32_t first_chunk_size = 16;
  static constexpr std::uint32_t chunk_size = 4096;
  using Chunks = BlockCache<chunk_size * sizeof(NodeState), 16>;

  bool has_claim(const NodeState& state) const {
    return NodeClaim::index(*state.node, pass_) != NodeClaim::none;
  }

  NodeState* first_chunk() const { return reinterpret_cast<NodeState*>(first_chunk_); }

  NodeState& append(Node& node) {
    if (next_ == end_of_chunk_) begin_chunk();
    ++size_;
    return *new (next_++) NodeState(node);
  }

  void begin_chunk();
  void release_all();
  void free_chunks();
  NodeState* find_unclaimed(const Node& node) const;
  void forget_unclaimed(const NodeState& state);

  const std::uint32_t pass_;
  std::uint32_t size_ = 0;
  std::uint32_t forgotten_ = 0;
  NodeState* next_ = first_chunk();  // where the next state goes
  NodeState* end_of_chunk_ = first_chunk() + first_chunk_size;
  std::vector<NodeState*> chunks_;  // after the first one
  absl::flat_hash_map<const Node*, std::uint32_t> unclaimed_;
  mutable absl::flat_hash_map<const Node*, std::uint32_t> all_;
  alignas(NodeState) mutable std::byte first_chunk_[first_chunk_size * sizeof(NodeState)];
};

}  // namespace gradcts::reference

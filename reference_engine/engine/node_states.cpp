#include "reference_engine/engine/node_states.h"

#include "reference_engine/error.h"

namespace gradcts::reference {

void NodeStates::begin_chunk() {
  if (size_ > NodeClaim::none - chunk_size) {
    throw Error(ErrorCategory::invalid_argument, "a pass over more than 2^32 - 4097 nodes");
  }
  chunks_.push_back(nullptr);
  chunks_.back() = static_cast<NodeState*>(Chunks::take());
  next_ = chunks_.back();
  end_of_chunk_ = next_ + chunk_size;
}

// Where all have run there is nothing left in the states.
void NodeStates::release_all() {
  for (std::uint32_t i = 0; i < size_; ++i) {
    NodeState& state = (*this)[i];
    if (has_claim(state)) NodeClaim::release(*state.node);
    state.~NodeState();
  }
}

void NodeStates::free_chunks() {
  for (NodeState* chunk : chunks_) {
    if (chunk) Chunks::give_back(chunk);
  }
}

NodeState* NodeStates::find_unclaimed(const Node& node) const {
  const auto found = unclaimed_.find(&node);
  return found == unclaimed_.end() ? nullptr : &(*this)[found->second];
}

std::uint32_t NodeStates::find_index(const Node& node) const {
  const std::uint32_t claimed = NodeClaim::index(node, pass_);
  if (claimed != NodeClaim::none) return claimed;
  const auto found = unclaimed_.find(&node);
  return found == unclaimed_.end() ? NodeClaim::none : found->second;
}

void NodeStates::forget_unclaimed(const NodeState& state) {
  unclaimed_.erase(state.node);
}

const NodeState* NodeStates::find_address(const Node* address) const {
  if (all_.empty()) {
    all_.reserve(size_);
    for (std::uint32_t i = 0; i < size_; ++i) all_.emplace((*this)[i].node, i);
  }
  const auto found = all_.find(address);
  return found == all_.end() ? nullptr : &(*this)[found->second];
}

}  // namespace gradcts::reference

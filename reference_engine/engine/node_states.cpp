#include "reference_engine/engine/node_states.h"

#include <new>

#include "reference_engine/error.h"

namespace gradcts::reference {

NodeStates::~NodeStates() {
  for (std::uint32_t i = 0; i < size_; ++i) {
    NodeState& state = (*this)[i];
    if (state.claimed) NodeClaim::release(*state.node);
    state.~NodeState();
  }
  for (NodeState* chunk : chunks_) ::operator delete(chunk);
}

NodeState& NodeStates::append(Node& node) {
  const std::uint32_t index = size_;
  if (index == NodeClaim::none) {
    throw Error(ErrorCategory::invalid_argument, "a pass over more than 2^32 - 1 nodes");
  }
  const bool chunk_is_full =
      index == 0 || (index >= first_chunk_size && (index - first_chunk_size) % chunk_size == 0);
  if (chunk_is_full) {
    const std::size_t count = index == 0 ? first_chunk_size : chunk_size;
    chunks_.push_back(nullptr);
    chunks_.back() = static_cast<NodeState*>(::operator new(count * sizeof(NodeState)));
  }
  NodeState* state = new (&(*this)[index]) NodeState(node);
  ++size_;
  return *state;
}

NodeStates::Added NodeStates::add(Node& node) {
  const std::uint32_t claimed = NodeClaim::index(node, pass_);
  if (claimed != NodeClaim::none) return {claimed, false};
  if (!unclaimed_.empty()) {
    const auto found = unclaimed_.find(&node);
    if (found != unclaimed_.end()) return {found->second, false};
  }
  const std::uint32_t index = size_;
  NodeState& state = append(node);
  state.claimed = NodeClaim::try_claim(node, pass_, index);
  if (!state.claimed) unclaimed_.emplace(&node, index);
  return {index, true};
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

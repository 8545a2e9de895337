#include "reference_engine/engine/node_states.h"

#include <new>

#include "reference_engine/error.h"

namespace gradcts::reference {

namespace {

// A thread keeps some of the chunks that its passes let go, since the memory of a large one would
// go back to the system and come again, page by page, with every pass.
class ChunkCache {
 public:
  ~ChunkCache() {
    for (void* chunk : chunks_) ::operator delete(chunk);
    is_gone = true;
  }

  void* take() {
    if (chunks_.empty()) return nullptr;
    void* chunk = chunks_.back();
    chunks_.pop_back();
    return chunk;
  }

  bool keep(void* chunk) {
    if (chunks_.size() == most) return false;
    chunks_.push_back(chunk);
    return true;
  }

  static thread_local bool is_gone;  // passes may end later than this on the thread

 private:
  static constexpr std::size_t most = 16;
  std::vector<void*> chunks_;
};

thread_local bool ChunkCache::is_gone = false;
thread_local ChunkCache chunk_cache;

}  // namespace

NodeState* NodeStates::allocate_chunk(bool is_first) {
  if (is_first)
    return static_cast<NodeState*>(::operator new(first_chunk_size * sizeof(NodeState)));
  void* cached = ChunkCache::is_gone ? nullptr : chunk_cache.take();
  if (!cached) cached = ::operator new(chunk_size * sizeof(NodeState));
  return static_cast<NodeState*>(cached);
}

void NodeStates::free_chunk(NodeState* chunk, bool is_first) {
  if (is_first || ChunkCache::is_gone || !chunk_cache.keep(chunk)) ::operator delete(chunk);
}

NodeStates::~NodeStates() {
  for (std::uint32_t i = 0; i < size_; ++i) {
    NodeState& state = (*this)[i];
    if (state.claimed) NodeClaim::release(*state.node);
    state.~NodeState();
  }
  for (std::size_t i = 0; i < chunks_.size(); ++i) free_chunk(chunks_[i], i == 0);
}

NodeState& NodeStates::append(Node& node) {
  const std::uint32_t index = size_;
  if (index == NodeClaim::none) {
    throw Error(ErrorCategory::invalid_argument, "a pass over more than 2^32 - 1 nodes");
  }
  const bool chunk_is_full =
      index == 0 || (index >= first_chunk_size && (index - first_chunk_size) % chunk_size == 0);
  if (chunk_is_full) {
    chunks_.push_back(nullptr);
    chunks_.back() = allocate_chunk(index == 0);
  }
  NodeState* state = new (&(*this)[index]) NodeState(node);
  ++size_;
  return *state;
}

NodeStates::Added NodeStates::add_unclaimed(Node& node) {
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

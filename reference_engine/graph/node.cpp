#include "reference_engine/graph/node.h"

#include <algorithm>

#include "reference_engine/graph/anomaly.h"
#include "reference_engine/graph/node_hooks.h"
#include "reference_engine/memory/live_count.h"

namespace gradcts::reference {
namespace {

thread_local std::uint64_t next_sequence_number = 0;

}  // namespace

Node::Node() : Node(next_sequence_number++, nullptr) {}

Node::Node(std::uint64_t sequence_number, TensorImpl* lifetime)
    : sequence_number_(sequence_number), lifetime_(lifetime) {
  count_live(LiveKind::node, 1);
  if (anomaly_mode().is_enabled) make_hooks().origin = current_origin();
}

Node::~Node() {
  count_live(LiveKind::node, -1);
  delete hooks_.load(std::memory_order_acquire);
}

void Node::set_next_edges(Edges edges) {
  std::uint64_t highest = 0;
  for (const Edge& edge : edges) {
    if (edge) highest = std::max(highest, edge.node->topological_number() + 1);
  }
  topological_number_.store(highest, std::memory_order_relaxed);
  next_edges_ = std::move(edges);
}

std::uint32_t Node::add_slot(InputMetadata metadata) {
  slots_.push_back(std::move(metadata));
  runs_on_cpu_ = slots_[0].device().is_cpu();
  return slot_count() - 1;
}

NodeHooks& Node::make_hooks() {
  NodeHooks* hooks = hooks_.load(std::memory_order_acquire);
  if (hooks) return *hooks;
  auto made = std::make_unique<NodeHooks>(slot_count());
  if (hooks_.compare_exchange_strong(hooks, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *hooks;  // another thread was faster
}

HookHandle Node::add_pre_hook(NodePreHook hook) {
  return make_hooks().pre.add(std::move(hook));
}

HookHandle Node::add_post_hook(NodePostHook hook) {
  return make_hooks().post.add(std::move(hook));
}

HookHandle Node::add_tensor_hook(std::uint32_t slot, TensorHook hook) {
  return make_hooks().make_slot(slot)->tensor.add(std::move(hook));
}

void Node::retain() const {
  if (lifetime_) {
    lifetime_->retain();
  } else {
    references_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Node::release() const {
  if (lifetime_) {
    lifetime_->release();
  } else if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    dispose(const_cast<Node*>(this));
  }
}

}  // namespace gradcts::reference

#include "reference_engine/engine/plan.h"

#include <algorithm>
#include <limits>

#include "absl/container/flat_hash_map.h"

namespace gradcts::reference {
namespace {

// Kept without duplicates; there are few.
void note_device(GraphTask& task, const Node& node) {
  const Device device = node.stream().device;
  for (const auto& [known, queue] : task.device_queues) {
    if (known == device) return;
  }
  task.device_queues.emplace_back(device, nullptr);
  task.is_local = false;
}

inline void take_part(GraphTask& task, const NodeState& state) {
  ++task.planned;
  if (!state.node->runs_on_cpu()) note_device(task, *state.node);
}

// Announced gradients are roots whose seeds come later.
template <typename Visit>
void for_each_root(const GraphTask& task, Visit&& visit) {
  for (const Root& root : task.roots) visit(*root.edge.node);
  for (const auto& announced : task.announced) visit(*announced->edge().node);
}

// ---- Pruned passes -----------------------------------------------------------------------------

// Depth first, so that a node is decided upon after all that it points to.
class Pruning {
 public:
  Pruning(GraphTask& task, absl::Span<const Target> targets) : task_(task) {
    for (const Target& target : targets) {
      merge(target);
      lowest_ = std::min(lowest_, target.node->topological_number());
    }
  }

  void visit(Node& root) {
    if (!enter(root)) return;
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      const Edges& edges = task_.states[frame.index].node->next_edges();
      if (frame.next_edge == edges.size()) {
        decide(frame.index);
        stack_.pop_back();
        continue;
      }
      const Edge& edge = edges[frame.next_edge++];
      if (edge) enter(*edge.node);
    }
  }

 private:
  struct Frame {
    std::uint32_t index;
    std::uint32_t next_edge;
  };

  void merge(const Target& target) {
    auto [found, is_new] = targets_.emplace(target.node, target);
    if (is_new) return;
    found->second.run |= target.run;
    if (target.capture == 0) return;
    task_.captures[target.capture - 1].next = found->second.capture;
    found->second.capture = target.capture;
  }

  // Whatever leads to a target has a higher topological number than the target.
  bool enter(Node& node) {
    if (node.topological_number() < lowest_) return false;
    const auto added = task_.states.add(node);
    if (added.is_new) stack_.push_back({added.index, 0});
    return added.is_new;
  }

  void decide(std::uint32_t index) {
    NodeState& state = task_.states[index];
    const auto target = targets_.find(state.node);
    if (target != targets_.end()) {
      state.needed = target->second.run;
      state.capture = target->second.capture;
    }
    const Edges& edges = state.node->next_edges();
    for (const Edge& edge : edges) state.needed |= receiver(edge) != nullptr;
    if (state.takes_part()) take_part(task_, state);
    if (!state.needed) return;
    for (const Edge& edge : edges) {
      if (NodeState* next = receiver(edge)) ++next->missing;
    }
  }

  NodeState* receiver(const Edge& edge) const {
    NodeState* next = edge ? task_.states.find(*edge.node) : nullptr;
    return next && next->takes_part() ? next : nullptr;
  }

  GraphTask& task_;
  std::uint64_t lowest_ = std::numeric_limits<std::uint64_t>::max();
  absl::flat_hash_map<const Node*, Target> targets_;
  std::vector<Frame> stack_;
};

}  // namespace

// The table is the list of what is to be visited as well.
void plan_everything(GraphTask& task) {
  NodeStates& states = task.states;
  const auto count_delivery = [&](Node& node) { ++states.add(node).state.missing; };
  for_each_root(task, count_delivery);
  for (std::uint32_t i = 0; i < states.size(); ++i) {
    NodeState& state = states[i];
    state.needed = true;
    take_part(task, state);
    for (const Edge& edge : state.node->next_edges()) {
      if (edge) count_delivery(*edge.node);
    }
  }
}

void plan_pruned(GraphTask& task, absl::Span<const Target> targets) {
  task.is_pruned = true;
  Pruning pruning(task, targets);
  for_each_root(task, [&](Node& root) { pruning.visit(root); });
  for_each_root(task, [&](Node& root) {
    NodeState* state = task.states.find(root);
    if (state && state->takes_part()) ++state->missing;
  });
}

}  // namespace gradcts::reference

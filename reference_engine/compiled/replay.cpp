#include "reference_engine/compiled/replay.h"

#include "reference_engine/engine/deliveries.h"
#include "reference_engine/engine/node_evaluation.h"
#include "reference_engine/engine/thread_context.h"

namespace gradcts::reference {
namespace {

// The steps were written down for the edges that the node had when the pass began (ERR-7).
[[noreturn, gnu::noinline]] void throw_changed(const Node& node, const Edge& edge,
                                               const Node& expected) {
  throw Error(ErrorCategory::incomplete_pass,
              "an edge of node " + node.name() + " was changed while the pass ran: it leads " +
                  (edge ? "to node " + edge.node->name() : "nowhere") + ", and node " +
                  expected.name() + " waits for it");
}

[[noreturn, gnu::noinline]] void throw_changed_count(const Node& node, std::size_t expected) {
  throw Error(ErrorCategory::incomplete_pass,
              "the edges of node " + node.name() +
                  " were changed while the pass ran: " + std::to_string(node.next_edges().size()) +
                  " instead of " + std::to_string(expected));
}

}  // namespace

// As in a pass from a queue, this is not yet part of the pass for what a sum may record.
void Replay::deliver_seeds(GraphTask& task) {
  if (!task.is_local) deliveries_.resize(program_->places);
  for (std::size_t i = 0; i < task.roots.size(); ++i) {
    Root& root = task.roots[i];
    const PlannedDelivery to = program_->seeds[i];
    if (to.node == 0) continue;
    if (task.is_local) {
      add_to_slot(*root.edge.node, places_[to.place], to.slot, std::move(root.seed));
    } else {
      put_down(deliveries_[to.place], root.edge, i, std::move(root.seed));
    }
  }
}

inline void Replay::deliver(const Node& node, Gradients& outputs, const ProgramStep& step,
                            const Tables& tables) {
  const Edges& edges = node.next_edges();
  if (edges.size() != step.deliveries) throw_changed_count(node, step.deliveries);
  const PlannedDelivery* delivery = tables.deliveries + step.first_delivery;
  Tensor* output = outputs.data();
  for (const Edge& edge : edges) {
    const PlannedDelivery& to = *delivery++;
    Tensor& gradient = *output++;
    if (to.node == 0) continue;
    if (edge.node.get() != tables.nodes[to.node]) throw_changed(node, edge, *tables.nodes[to.node]);
    if (step.hands_over) {
      tables.places[to.place] = std::move(outputs);
      return;
    }
    add_to_slot(*edge.node, tables.places[to.place], to.slot, std::move(gradient));
  }
}

inline void Replay::run_step(GraphTask& task, const ProgramStep& step, const Tables& tables) {
  Node& node = *tables.nodes[step.node];
  Gradients& inputs = tables.places[step.place];
  receive(task, node, step.first_capture, inputs);
  if (step.runs) {
    Gradients outputs = evaluate(task, node, inputs);
    deliver(node, outputs, step, tables);
  }
  inputs.clear();
}

void Replay::put_down_outputs(const Node& node, Gradients& outputs, const ProgramStep& step) {
  const Edges& edges = node.next_edges();
  if (edges.size() != step.deliveries) throw_changed_count(node, step.deliveries);
  const std::uint32_t planned = program_->planned[&step - program_->steps.data()];
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const PlannedDelivery& to = program_->deliveries[step.first_delivery + i];
    if (to.node == 0) continue;
    if (edges[i].node.get() != nodes_[to.node]) throw_changed(node, edges[i], *nodes_[to.node]);
    put_down(deliveries_[to.place], edges[i], delivery_order(planned, i), std::move(outputs[i]));
  }
}

void Replay::run_on_device(GraphTask& task, const ProgramStep& step) {
  Node& node = *nodes_[step.node];
  run_on_streams(task, node, step.first_capture, step.runs,
                 std::exchange(deliveries_[step.place], {}),
                 [&](Gradients& outputs) { put_down_outputs(node, outputs, step); });
}

template <typename RunStep>
inline void Replay::run_steps(GraphTask& task, RunStep&& run_step) {
  ThreadMode& mode = thread_mode();
  ThreadStateGuard state;
  state.enter(task);
  const ProgramStep* step = program_->steps.data();
  const ProgramStep* const end = step + program_->steps.size();
  try {
    for (; step != end; ++step) {
      mode.running.node = nodes_[step->node];
      run_step(*step);
      state.settle(task);
    }
  } catch (...) {
    take_error(task, *nodes_[step->node]);
    places_.clear();
    deliveries_.clear();
  }
}

void Replay::run(GraphTask& task) {
  if (!task.is_local) {
    return run_steps(task, [&](const ProgramStep& step) { run_on_device(task, step); });
  }
  const Tables tables{nodes_.data(), places_.data(), program_->deliveries.data()};
  run_steps(task, [&](const ProgramStep& step) { run_step(task, step, tables); });
}

Program::Role Replay::role(const Node& node) const {
  const std::uint32_t number = NodeMark::number(node, walk_);
  if (number != 0) [[likely]]
    return program_->roles[number];
  return role_of_address(&node);
}

Program::Role Replay::role_of_address(const Node* address) const {
  if (numbers_.empty()) {
    numbers_.reserve(nodes_.size());
    for (std::uint32_t number = 1; number < nodes_.size(); ++number) {
      numbers_.emplace(nodes_[number], number);
    }
  }
  const auto found = numbers_.find(address);
  return found == numbers_.end() ? Program::Role::none : program_->roles[found->second];
}

bool Replay::visits(const Node* address) const {
  return role_of_address(address) != Program::Role::none;
}

}  // namespace gradcts::reference

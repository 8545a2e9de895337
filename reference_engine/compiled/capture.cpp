#include "reference_engine/compiled/capture.h"

#include <algorithm>

#include "reference_engine/engine/ready_entries.h"
#include "reference_engine/graph/leaf_accumulator.h"

namespace gradcts::reference {
namespace {

class DryRun {
 public:
  DryRun(GraphTask& task, const GraphWalk& walk, Program& program)
      : task_(task), walk_(walk), program_(program), places_(walk.nodes().size(), no_place) {
    program_.roles.resize(walk.nodes().size(), Program::Role::none);
    program_.steps.reserve(task.planned);
    program_.planned.reserve(task.planned);
  }

  void run() {
    for (const Root& root : task_.roots) program_.seeds.push_back(deliver(root.edge));
    while (!ready_.empty()) write_down(*ready_.take_best().state);
  }

 private:
  static constexpr std::uint32_t no_place = ~std::uint32_t{0};

  // What the edge's node waits for is one less.
  PlannedDelivery deliver(const Edge& edge) {
    NodeState* state = edge ? task_.states.find(*edge.node) : nullptr;
    if (!state || !state->takes_part()) return {};
    const std::uint32_t number = walk_.number(*edge.node);
    std::uint32_t& place = places_[number];
    if (place == no_place) place = take_place();
    if (--state->missing == 0) {
      const std::uint64_t sequence = state->node->sequence_number();
      ready_.push({ReadyEntry::make_priority(task_.depth, sequence), &task_, state});
    }
    return {number, place, edge.slot};
  }

  // The node's own place is free only when it has delivered: it lies there while it runs.
  void write_down(NodeState& state) {
    const Node& node = *state.node;
    const std::uint32_t number = walk_.number(node);
    ProgramStep step{number, places_[number], state.capture};
    program_.planned.push_back(task_.states.find_index(node));
    task_.states.forget(state);
    step.runs = state.needed;
    program_.roles[number] = step.runs ? Program::Role::runs : Program::Role::captured;
    step.first_delivery = static_cast<std::uint32_t>(program_.deliveries.size());
    if (step.runs) {
      step.deliveries = static_cast<std::uint32_t>(node.next_edges().size());
      step.hands_over = hands_over(node);
      for (const Edge& edge : node.next_edges()) program_.deliveries.push_back(deliver(edge));
    }
    free_places_.push_back(step.place);
    program_.steps.push_back(step);
  }

  // Before its delivery.
  bool hands_over(const Node& node) const {
    if (node.next_edges().size() != 1) return false;
    const Edge& edge = node.next_edges()[0];
    const NodeState* next = edge ? task_.states.find(*edge.node) : nullptr;
    return next && next->takes_part() && next->missing == 1 && edge.node->slot_count() == 1 &&
           places_[walk_.number(*edge.node)] == no_place;
  }

  std::uint32_t take_place() {
    if (free_places_.empty()) return program_.places++;
    const std::uint32_t place = free_places_.back();
    free_places_.pop_back();
    return place;
  }

  GraphTask& task_;
  const GraphWalk& walk_;
  Program& program_;
  ReadyEntries ready_;
  std::vector<std::uint32_t> places_;  // by number
  std::vector<std::uint32_t> free_places_;
};

std::uint64_t sequence_of(const GraphWalk& walk, std::uint32_t number) {
  return walk.nodes()[number]->sequence_number();
}

void note_order(const GraphWalk& walk, Program& program) {
  for (const ProgramStep& step : program.steps) {
    if (sequence_of(walk, step.node) == LeafAccumulator::sequence) continue;
    program.made.push_back({step.node, 0});
  }
  const auto was_made_later = [&](Program::Made a, Program::Made b) {
    return sequence_of(walk, a.node) > sequence_of(walk, b.node);
  };
  // Steps are nearly always in this order as it is.
  if (!std::is_sorted(program.made.begin(), program.made.end(), was_made_later)) {
    std::sort(program.made.begin(), program.made.end(), was_made_later);
  }
  for (std::size_t i = 1; i < program.made.size(); ++i) {
    program.made[i].with_the_last =
        sequence_of(walk, program.made[i - 1].node) == sequence_of(walk, program.made[i].node);
  }
}

Program::Asked asked(const Target& target, const GraphWalk& walk) {
  return {walk.number(*target.node), target.run, target.capture != 0};
}

bool is_made_in_order(const Program& program, const GraphWalk& walk) {
  std::uint64_t last = LeafAccumulator::sequence;
  for (const Program::Made made : program.made) {
    const std::uint64_t sequence = sequence_of(walk, made.node);
    if (made.with_the_last ? sequence != last : sequence >= last) return false;
    last = sequence;
  }
  return true;
}

bool asks_the_same(const Program& program, const GraphWalk& walk,
                   const std::vector<Target>* targets) {
  if (program.asks != (targets != nullptr)) return false;
  if (!targets) return true;
  return std::equal(
      targets->begin(), targets->end(), program.asked.begin(), program.asked.end(),
      [&](const Target& target, const Program::Asked& is) { return asked(target, walk) == is; });
}

}  // namespace

std::optional<MissCause> misfit(const Program& program, const GraphWalk& walk,
                                const std::vector<Target>* targets) {
  if (!asks_the_same(program, walk, targets)) return MissCause::asked;
  if (!is_made_in_order(program, walk)) return MissCause::order;
  return std::nullopt;
}

ProgramPointer make_program(GraphTask& task, const std::vector<Target>* targets,
                            const GraphWalk& walk) {
  auto program = std::make_shared<Program>();
  plan_pass(task, targets);
  if (targets) {
    program->asks = true;
    for (const Target& target : *targets) program->asked.push_back(asked(target, walk));
  }
  for (const PlannedCapture& capture : task.captures) {
    program->next_captures.push_back(capture.next);
  }
  DryRun(task, walk, *program).run();
  note_order(walk, *program);
  return program;
}

}  // namespace gradcts::reference

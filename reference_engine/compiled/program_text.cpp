#include "reference_engine/compiled/program_text.h"

#include "reference_engine/graph/node_hooks.h"

namespace gradcts::reference {
namespace {

std::string number_of(std::size_t count, const char* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string where_to(const PlannedDelivery& to, const NumberedNodes& nodes) {
  if (to.node == 0) return "nowhere";
  std::string text = "place " + std::to_string(to.place);
  if (nodes[to.node]->slot_count() > 1) text += " slot " + std::to_string(to.slot);
  return text;
}

std::string outputs_of(const Program& program, const ProgramStep& step,
                       const NumberedNodes& nodes) {
  std::string text;
  for (std::uint32_t i = 0; i < step.deliveries; ++i) {
    const PlannedDelivery& to = program.deliveries[step.first_delivery + i];
    text += (i == 0 ? " -> " : ", ") + where_to(to, nodes);
  }
  return step.hands_over ? text + " (handed over)" : text;
}

// What the engine looks for on the node when its turn comes.
std::string extras_of(const ProgramStep& step, const Node& node) {
  std::string text;
  if (node.hooks()) text += "; hooks (HOOK-1)";
  if (step.first_capture != 0) text += "; captured (PRUNE-6)";
  if (!step.runs) text += "; does not run (COMP-6)";
  return text;
}

}  // namespace

std::string text_of(const Program& program, const NumberedNodes& nodes) {
  std::string text = "program of " + number_of(program.steps.size(), "step") + ", " +
                     number_of(program.places, "place") + "\n";
  for (std::size_t i = 0; i < program.seeds.size(); ++i) {
    text += "  root " + std::to_string(i) + " -> " + where_to(program.seeds[i], nodes) + "\n";
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const ProgramStep& step = program.steps[i];
    const Node& node = *nodes[step.node];
    text += "  " + std::to_string(i + 1) + ": node " + std::to_string(step.node) + ", " +
            node.name() + ": place " + std::to_string(step.place) +
            outputs_of(program, step, nodes) + extras_of(step, node) + "\n";
  }
  return text;
}

std::string compiled_line(const Program& program, const std::string& reason) {
  return "compiled a program of " + number_of(program.steps.size(), "step") + ": " + reason;
}

}  // namespace gradcts::reference

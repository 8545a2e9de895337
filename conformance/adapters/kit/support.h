// The parts of the interpreter that need no engine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "conformance/adapters/kit/binding.h"

namespace gradcts::kit {

// For each NodeId, accumulators included: whether a hook or a step refers to the node itself, so
// that the program must hold on to it.
std::vector<bool> nodes_that_are_named(const Scenario& scenario);

// Where a custom node's saved values are. Those that are neither inputs nor outputs are numbered in
// order.
std::vector<SavedValue> saved_values(const Node& node);

// Values that may have a `.grad`, beside the leaves.
std::vector<ValueId> values_with_grad(const Scenario& scenario);

// One line for each difference.
std::vector<std::string> differences(const ThreadState& before, const ThreadState& after);

EventKind event_of(HookKind kind);

// The features that the scenario needs and the description does not claim, as one text; empty:
// none.
std::string missing_features_text(const Scenario& scenario, const Description& description);

// Step results on their way from a child process.
std::string steps_as_text(std::vector<StepResult> steps, const Scenario& scenario);
std::vector<StepResult> steps_from_text(std::string_view text, const Scenario& scenario);

}  // namespace gradcts::kit

#include "conformance/checker/perfect_outcome.h"

#include <fmt/format.h>

namespace gradcts {

namespace {

std::string in_words(const Mention& mention) {
  if (const auto* word = std::get_if<std::string>(&mention)) return *word;
  if (const auto* shape = std::get_if<Shape>(&mention)) {
    return fmt::format("({})", fmt::join(*shape, ","));
  }
  return std::to_string(std::get<std::int64_t>(mention));
}

}  // namespace

// Expected events stand in an order that keeps every constraint: each one refers to an earlier
// event.
Outcome perfect_outcome(const Scenario& scenario, const Expectation& expectation) {
  Outcome outcome;
  for (const ExpectedStep& expected : expectation.steps) {
    StepResult& result = outcome.steps.emplace_back(expected.result);
    if (!result.error) continue;
    for (const Mention& mention : expected.names) result.error->text += in_words(mention) + "; ";
  }
  for (const ExpectedEvent& expected : expectation.events) outcome.events.push_back(expected.event);
  outcome.leaf_grads = expectation.leaf_grads;
  outcome.leaf_grads.resize(scenario.leaves.size());
  for (std::size_t i = 0; i < expectation.leaf_grad_strides.size(); ++i) {
    const auto& strides = expectation.leaf_grad_strides[i];
    if (strides && outcome.leaf_grads[i]) outcome.leaf_grads[i]->strides = *strides;
  }
  return outcome;
}

}  // namespace gradcts

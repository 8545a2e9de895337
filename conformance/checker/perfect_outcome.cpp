#include "conformance/checker/perfect_outcome.h"

namespace gradcts {

// Expected events stand in an order that keeps every constraint: each one refers to an earlier
// event.
Outcome perfect_outcome(const Scenario& scenario, const Expectation& expectation) {
  Outcome outcome;
  for (const ExpectedStep& expected : expectation.steps) outcome.steps.push_back(expected.result);
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

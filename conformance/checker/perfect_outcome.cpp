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

// One for each device, above those of the program.
std::int16_t thread_of(Device device) {
  return static_cast<std::int16_t>(1000 + 100 * static_cast<int>(device.type) + device.index);
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
  for (const ExpectedEvent& expected : expectation.events) {
    Event& event = outcome.events.emplace_back(expected.event);
    if (expected.device && expected.device->type != DeviceType::cpu) {
      event.thread = thread_of(*expected.device);
    }
  }
  outcome.leaf_grads = expectation.leaf_grads;
  outcome.leaf_grads.resize(scenario.leaves.size());
  for (std::size_t i = 0; i < expectation.leaf_grad_strides.size(); ++i) {
    const auto& strides = expectation.leaf_grad_strides[i];
    if (strides && outcome.leaf_grads[i]) outcome.leaf_grads[i]->strides = *strides;
  }
  return outcome;
}

}  // namespace gradcts

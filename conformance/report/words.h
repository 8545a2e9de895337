// Parts of scenarios in words for people, one line each.
#pragma once

#include <string>
#include <string_view>

#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"

namespace gradcts {

std::string_view in_words(HookKind kind);                          // "tensor hook"
std::string in_words(const Scenario& scenario, const Node& node);  // "power(y) exponent=3"
std::string in_words(const Scenario& scenario,
                     const Expression& expression);  // "2*slot 0 + slot 1*x"
// "backward from y (seed 5) and z (seed 3)". Steps inside are not part of it.
std::string in_words(const Scenario& scenario, const Step& step);
std::string in_words(const Scenario& scenario, const StepResult& result);
std::string in_words(const Scenario& scenario, const Event& event);
std::string subject_in_words(const Scenario& scenario,
                             const Event& event);                // what it happened to: "y"
std::string in_words(const std::optional<TensorValue>& tensor);  // undefined when unset
std::string in_words(const StepExpectation& expectation);

// What a step is called in findings and results: "step 3 (grad)".
std::string step_name(const Scenario& scenario, StepId step);
const Step* find_step(const Scenario& scenario, StepId id);  // null when there is none

// "3 scenarios", "1 scenario".
std::string counted(std::size_t count, std::string_view noun);

}  // namespace gradcts

// The oracle: what a scenario means.
//
// It runs the scenario sequentially on exact values, in the simplest way that can be read as the
// clauses themselves, and shares no code with any engine. It is slow and obvious on purpose. Its result
// says what every conforming engine of the given dialect must do, and leaves free what the clauses
// leave free. A pure function; safe to call from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/scenario/outcome.h"
#include "conformance/scenario/scenario.h"
#include "conformance/spec/spec.h"

namespace gradcts {

// An event that must, or may, happen. `event.thread` is 0 for "on the thread of its step" and
// meaningless otherwise; values are compared where they are given.
struct ExpectedEvent {
  Event event;
  // False: it may be missing (for example a sibling of a node that threw, ERR-2).
  bool required = true;
  // Whether `event.values` must match what was reported.
  bool compare_values = false;
  // The clause that a missing, surplus or different event of this kind breaks.
  const char* clause = "TOPO-1";
};

// Expected event `before` stands before expected event `after` whenever both happened.
struct OrderConstraint {
  std::int32_t before = 0;  // indices into Expectation::events
  std::int32_t after = 0;
  const char* clause = "TOPO-1";
};

struct ExpectedStep {
  StepResult result;  // thread is not compared; an error's text is not compared
  // Categories that are as good as result.error's: non-empty exactly when an error is expected.
  std::vector<ErrorCategory> allowed_errors;
  // Several tokens may be the first error when failing nodes are unordered (ERR-1).
  std::vector<std::string> allowed_tokens;
  // False: the step may not have been reached (after an error elsewhere).
  bool required = true;
  // Distance allowed for each value, in units in the last place; 0 is exact.
  double bound = 0;
  const char* clause = "ACC-1";  // what a wrong value or error here breaks
};

struct Expectation {
  std::vector<ExpectedStep> steps;
  std::vector<ExpectedEvent> events;
  std::vector<OrderConstraint> order;
  std::vector<std::optional<TensorValue>> leaf_grads;
  // False: an error left the leaf's gradient undetermined; it is not compared.
  std::vector<bool> leaf_grad_known;
  // Set when the oracle cannot say (a scenario outside its vocabulary): a fault of the suite, reported
  // as `error`, never as a pass.
  std::string cannot_tell;
};

Expectation expect(const Scenario& scenario, const Dialect& dialect);

}  // namespace gradcts
